// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/mma_sync/weights.hpp"

#include <algorithm>

#include "scaled_gemm/products.hpp"

namespace ptxloom::scaled_gemm::mma_sync {
namespace {

constexpr int kWordsAtOnce = 4;
constexpr int kPairBytes = 2;  // values of two rows are side by side

}  // namespace

Weights::Weights(KernelBuilder& k, const Problem& p, const Config& c, const WeightInputs& in)
    : k_(k),
      p_(p),
      c_(c),
      in_(in),
      layout_(p.b.weights()),
      groups_(std::max(1, c.tile_k / static_cast<int>(p.b.format.block))),
      dequantiser_(k, p) {
  const auto last = static_cast<std::int64_t>(layout_.row_tiles()) - 1;
  for (int i = 0; i < row_tiles_of_group(c); ++i) {
    const Reg number = k.min(k.add(in.row_tile, i), last);
    tiles_.push_back(
        {.number = row_tile_of_all(k, p, in.batch, number), .next = allocate(), .current = allocate()});
  }
}

Weights::Block Weights::allocate() {
  return {.words = k_.regs(b32, c_.tile_k / kInstructionDepth),
          .scales = k_.regs(b32, groups_),
          .zeros = k_.regs(b32, p_.b.zero_points() ? groups_ : 0)};
}

void Weights::load(Reg depth) {
  for (RowTile& tile : tiles_) {
    const Reg unit = k_.mad_wide(tile.number, static_cast<std::int64_t>(layout_.depth_tiles()),
                                 k_.convert(u64, k_.div(depth, kit::WeightLayout::kTileDepth)));
    Reg from = k_.fma(unit, kit::WeightLayout::kTileBytes, in_.weights);
    from = k_.mad_wide(in_.thread, kit::WeightLayout::kThreadBytes, from);
    for (std::size_t i = 0; i < tile.next.words.size(); i += kWordsAtOnce)
      k_.emit("ld.global.nc.v4.b32", std::span<const Reg>(tile.next.words).subspan(i, kWordsAtOnce),
              k_.at(from, static_cast<int>(i) / kWordsAtOnce * kit::WeightLayout::kTileBytes));
    load_groups(tile, depth);
  }
}

// Groups behind the end of k may hold anything. Their activations are zero, and so must be their scales: zero
// times infinity or NaN is not.
void Weights::load_groups(RowTile& tile, Reg depth) {
  const int size = p_.b.format.scale.bytes(), group = static_cast<int>(p_.b.format.block);
  const Reg place = k_.fma(k_.shr(in_.thread, 5), 8, k_.shr(k_.and_(in_.thread, 31), 2));
  const Reg first = k_.mad_wide(tile.number, static_cast<std::int64_t>(layout_.groups(p_.b.format.block)),
                                k_.convert(u64, k_.div(depth, group)));
  const auto address = [&](Reg base, int bytes) {
    return k_.mad_wide(place, kPairBytes * bytes, k_.fma(first, kRows * bytes, base));
  };
  const Reg scales = address(in_.scales, size);
  for (int i = 0; i < groups_; ++i) {
    const Reg scale = tile.next.scales[static_cast<std::size_t>(i)];
    k_.emit(size == 1 ? "ld.global.nc.u16" : "ld.global.nc.b32", scale, k_.at(scales, i * kRows * size));
    if (i == 0 || p_.k % kit::WeightLayout::kDepthUnit == 0) continue;
    k_.emit("selp.b32", scale, scale, 0, k_.lt(k_.add(depth, i * group), in_.k));
  }
  if (!p_.b.zero_points()) return;
  const Reg zeros = address(in_.zeros, 1);
  for (int i = 0; i < groups_; ++i)
    k_.emit("ld.global.nc.u16", tile.next.zeros[static_cast<std::size_t>(i)], k_.at(zeros, i * kRows));
}

void Weights::advance() {
  const auto copy = [&](const std::vector<Reg>& from, const std::vector<Reg>& to) {
    for (std::size_t i = 0; i < from.size(); ++i) k_.set(to[i], from[i]);
  };
  for (RowTile& tile : tiles_) {
    copy(tile.next.words, tile.current.words);
    copy(tile.next.scales, tile.current.scales);
    copy(tile.next.zeros, tile.current.zeros);
  }
}

int Weights::group_of(int step) const {
  return step * kInstructionDepth / static_cast<int>(p_.b.format.block) % groups_;
}

std::vector<Reg> Weights::make(int row_tile, int step) {
  RowTile& tile = tiles_.at(static_cast<std::size_t>(row_tile));
  if (step == 0 || group_of(step) != group_of(step - 1)) {
    const auto group = static_cast<std::size_t>(group_of(step));
    const Reg zeros = p_.b.zero_points() ? tile.current.zeros.at(group) : Reg{};
    tile.factors = dequantiser_.factors(tile.current.scales.at(group), zeros);
  }
  const std::vector<Reg> four = k_.regs(b32, 4);
  dequantiser_.make(tile.current.words.at(static_cast<std::size_t>(step)), tile.factors, four);
  return four;
}

}  // namespace ptxloom::scaled_gemm::mma_sync
