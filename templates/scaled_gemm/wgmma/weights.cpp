// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/wgmma/weights.hpp"

namespace ptxloom::scaled_gemm::wgmma {
namespace {

constexpr int kWordsAtOnce = 4;
constexpr int kPairBytes = 2;  // scales of two rows are side by side

}  // namespace

Weights::Weights(KernelBuilder& k, const Problem& p, const Config& c, const Plan& plan,
                 const WeightInputs& in)
    : k_(k), p_(p), plan_(plan), in_(in), steps_(chunk_steps(c)), dequantiser_(k, p) {
  const int tiles = row_tiles_of_warpgroup(c);
  words_ = k.fma(in.warpgroup, tiles * plan.weight_bytes, plan.stage.address(k, in.stages, "weights"));
  words_ = k.fma(in.thread, kit::WeightLayout::kThreadBytes, words_);
  scales_ = k.fma(in.warpgroup, tiles * plan.scale_bytes, plan.stage.address(k, in.stages, "scales"));
  const Reg place = k.fma(k.shr(in.thread, 5), 8, k.shr(k.and_(in.thread, 31), 2));
  scales_ = k.fma(place, kPairBytes * p.b.format.scale.bytes(), scales_);
  zeros_ = k.fma(in.warpgroup, tiles * plan.zero_bytes, plan.stage.address(k, in.stages, "zeros"));
  zeros_ = k.fma(place, kPairBytes, zeros_);
  for (int i = 0; i < tiles; ++i)
    tiles_.push_back({.words = k.regs(b32, c.tile_k / kInstructionDepth),
                      .scales = k.regs(b32, plan.scale_groups),
                      .zeros = k.regs(b32, p.b.zero_points() ? plan.scale_groups : 0)});
}

void Weights::read(Reg stage, Reg depth) {
  const Reg words = k_.add(words_, stage), scales = k_.add(scales_, stage);
  int number = 0;
  for (RowTile& tile : tiles_) {
    for (std::size_t i = 0; i < tile.words.size(); i += kWordsAtOnce) {
      const int offset =
          number * plan_.weight_bytes + static_cast<int>(i) / kWordsAtOnce * kit::WeightLayout::kTileBytes;
      k_.emit("ld.shared.v4.b32", std::span<const Reg>(tile.words).subspan(i, kWordsAtOnce),
              k_.at(words, offset));
    }
    read_scales(tile, k_.add(scales, number * plan_.scale_bytes), depth);
    for (std::size_t i = 0; i < tile.zeros.size(); ++i)
      k_.emit("ld.shared.u16", tile.zeros[i],
              k_.at(k_.add(zeros_, stage), number * plan_.zero_bytes + static_cast<int>(i) * kRows));
    ++number;
  }
}

// Groups behind the end of k exist, but may hold anything. Their activations are zero, and so must be their
// scales: zero times infinity or NaN is not.
void Weights::read_scales(RowTile& tile, Reg from, Reg depth) {
  const int size = p_.b.format.scale.bytes(), group = static_cast<int>(p_.b.format.block);
  for (std::size_t i = 0; i < tile.scales.size(); ++i) {
    const Reg scale = tile.scales[i];
    k_.emit(size == 1 ? "ld.shared.u16" : "ld.shared.b32", scale,
            k_.at(from, static_cast<int>(i) * kRows * size));
    if (i == 0 || p_.k % kit::WeightLayout::kDepthUnit == 0) continue;
    const Reg inside = k_.lt(k_.add(depth, static_cast<int>(i) * group), in_.k);
    k_.emit("selp.b32", scale, scale, 0, inside);
  }
}

int Weights::group_of(int step) const {
  return step * kInstructionDepth / static_cast<int>(p_.b.format.block) % plan_.scale_groups;
}

void Weights::make(int row_tile, int chunk, const Fragments& into) {
  RowTile& tile = tiles_.at(static_cast<std::size_t>(row_tile));
  for (int i = 0; i < steps_; ++i) {
    const int step = chunk * steps_ + i;
    if (step == 0 || group_of(step) != group_of(step - 1)) {
      const auto group = static_cast<std::size_t>(group_of(step));
      const Reg zeros = p_.b.zero_points() ? tile.zeros.at(group) : Reg{};
      tile.factors = dequantiser_.factors(tile.scales.at(group), zeros);
    }
    dequantiser_.make(tile.words.at(static_cast<std::size_t>(step)), tile.factors,
                      std::span(into).subspan(static_cast<std::size_t>(4 * i), 4));
  }
}

}  // namespace ptxloom::scaled_gemm::wgmma
