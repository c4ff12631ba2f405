// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/mma_sync/weights.hpp"

#include "scaled_gemm/products.hpp"

namespace ptxloom::scaled_gemm::mma_sync {
namespace {

constexpr int kPairBytes = 2;  // values of two rows are side by side

}  // namespace

Weights::Weights(KernelBuilder& k, const Problem& p, const Config& c, const WeightInputs& in)
    : k_(k), p_(p), in_(in), layout_(p.b.weights()), groups_(k, p, c.tile_k, in.table) {
  const auto last = static_cast<std::int64_t>(layout_.row_tiles()) - 1;
  for (int i = 0; i < row_tiles_of_group(c); ++i) {
    const Reg number = k.min(k.add(in.row_tile, i), last);
    tiles_.push_back({.number = row_tile_of_all(k, p, in.batch, number),
                      .next = groups_.allocate(),
                      .current = groups_.allocate()});
    const auto bytes = static_cast<std::int64_t>(layout_.groups(p.b.format.block)) * kRows;
    if (groups_.needs_largest())
      groups_.begin(tiles_.back().state, k.mad_wide(tiles_.back().number, bytes, in.scales), in.thread);
  }
}

void Weights::load(Reg depth) {
  for (RowTile& tile : tiles_) {
    const Reg unit = k_.mad_wide(tile.number, static_cast<std::int64_t>(layout_.depth_tiles()),
                                 k_.convert(u64, k_.div(depth, layout_.tile_depth())));
    const Reg from = k_.fma(unit, static_cast<std::int64_t>(layout_.tile_bytes()), in_.weights);
    groups_.load_words("ld.global.nc", tile.next, k_.mad_wide(in_.thread, layout_.thread_bytes(), from));
    load_groups(tile, depth);
  }
}

void Weights::load_groups(RowTile& tile, Reg depth) {
  const int size = p_.b.format.scale.bytes();
  const Reg place = k_.fma(k_.shr(in_.thread, 5), 8, k_.shr(k_.and_(in_.thread, 31), 2));
  const Reg first = k_.mad_wide(tile.number, static_cast<std::int64_t>(layout_.groups(p_.b.format.block)),
                                k_.convert(u64, WeightGroups::group_at(k_, p_, depth)));
  const auto address = [&](Reg base, int bytes) {
    return k_.mad_wide(place, kPairBytes * bytes, k_.fma(first, kRows * bytes, base));
  };
  groups_.load_scales("ld.global.nc", tile.next, address(in_.scales, size), depth, in_.k);
  if (!p_.b.zero_points()) return;
  const Reg zeros = address(in_.zeros, 1);
  for (int i = 0; i < groups_.count(); ++i)
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

std::vector<Reg> Weights::make(int row_tile, int step) {
  RowTile& tile = tiles_.at(static_cast<std::size_t>(row_tile));
  std::vector<Reg> four = k_.regs(b32, 4);
  groups_.make(tile.current, step, tile.state, four);
  return four;
}

const std::array<Reg, 2>& Weights::factors(int row_tile) const {
  return tiles_.at(static_cast<std::size_t>(row_tile)).state.run.factor;
}

}  // namespace ptxloom::scaled_gemm::mma_sync
