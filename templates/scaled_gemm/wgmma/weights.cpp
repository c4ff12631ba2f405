// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/wgmma/weights.hpp"

#include "scaled_gemm/products.hpp"

namespace ptxloom::scaled_gemm::wgmma {
namespace {

constexpr int kPairBytes = 2;  // scales of two rows are side by side

}  // namespace

Weights::Weights(KernelBuilder& k, const Problem& p, const Config& c, const Plan& plan,
                 const WeightInputs& in)
    : k_(k), p_(p), plan_(plan), in_(in), steps_(chunk_steps(p, c)), groups_(k, p, c.tile_k, in.table) {
  const int tiles = row_tiles_of_warpgroup(c);
  words_ = k.fma(in.warpgroup, tiles * plan.weight_bytes, plan.stage.address(k, in.stages, "weights"));
  words_ = k.fma(in.thread, p.b.weights().thread_bytes(), words_);
  scales_ = k.fma(in.warpgroup, tiles * plan.scale_bytes, plan.stage.address(k, in.stages, "scales"));
  const Reg place = k.fma(k.shr(in.thread, 5), 8, k.shr(k.and_(in.thread, 31), 2));
  scales_ = k.fma(place, kPairBytes * p.b.format.scale.bytes(), scales_);
  zeros_ = k.fma(in.warpgroup, tiles * plan.zero_bytes, plan.stage.address(k, in.stages, "zeros"));
  zeros_ = k.fma(place, kPairBytes, zeros_);
  for (int i = 0; i < tiles; ++i) tiles_.push_back({groups_.allocate()});
}

void Weights::begin(const kit::TileOrigin& tile) {
  if (!groups_.needs_largest()) return;
  const kit::WeightLayout layout = p_.b.weights();
  const auto last = static_cast<std::int64_t>(layout.row_tiles()) - 1;
  const Reg first = k_.fma(in_.warpgroup, static_cast<std::int64_t>(tiles_.size()), k_.div(tile.row, kRows));
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    const Reg row = row_tile_of_all(k_, p_, tile.batch, k_.min(k_.add(first, i), last));
    const auto bytes = static_cast<std::int64_t>(layout.groups(p_.b.format.block)) * kRows;
    groups_.begin(tiles_[i].state, k_.mad_wide(row, bytes, in_.scales), in_.thread);
  }
}

void Weights::read(Reg stage, Reg depth) {
  const Reg words = k_.add(words_, stage), scales = k_.add(scales_, stage);
  int number = 0;
  for (RowTile& tile : tiles_) {
    groups_.load_words("ld.shared", tile.block, k_.add(words, number * plan_.weight_bytes));
    groups_.load_scales("ld.shared", tile.block, k_.add(scales, number * plan_.scale_bytes), depth, in_.k);
    for (std::size_t i = 0; i < tile.block.zeros.size(); ++i)
      k_.emit("ld.shared.u16", tile.block.zeros[i],
              k_.at(k_.add(zeros_, stage), number * plan_.zero_bytes + static_cast<int>(i) * kRows));
    ++number;
  }
}

void Weights::make(int row_tile, int chunk, const Fragments& into) {
  RowTile& tile = tiles_.at(static_cast<std::size_t>(row_tile));
  groups_.make(tile.block, chunk * steps_, tile.state, into);
}

const std::array<Reg, 2>& Weights::factors(int row_tile) const {
  return tiles_.at(static_cast<std::size_t>(row_tile)).state.run.factor;
}

}  // namespace ptxloom::scaled_gemm::wgmma
