// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/weight_groups.hpp"

#include <algorithm>

namespace ptxloom::scaled_gemm {

WeightGroups::WeightGroups(KernelBuilder& k, const Problem& p, int tile_k, Reg table)
    : k_(k), p_(p), tile_k_(tile_k), count_(count_of(p, tile_k)) {
  if (!p.row_scales()) {
    halves_.emplace(k, p);
    return;
  }
  bytes_.emplace(k, p, table);
  run_ = run_depth(p, tile_k);
}

int WeightGroups::count_of(const Problem& p, int tile_k) {
  return std::max(1, tile_k / static_cast<int>(p.b.format.block));
}

WeightBlock WeightGroups::allocate() const {
  return {.words = k_.regs(b32, tile_k_ / kWordDepth),
          .scales = k_.regs(b32, count_),
          .zeros = k_.regs(b32, p_.b.zero_points() ? count_ : 0)};
}

void WeightGroups::clear_behind(Reg scale, int group, Reg depth, Reg end) const {
  if (group == 0 || p_.k % kit::WeightLayout::kDepthUnit == 0) return;
  const Reg inside = k_.lt(k_.add(depth, group * static_cast<int>(p_.b.format.block)), end);
  k_.emit("selp.b32", scale, scale, 0, inside);
}

int WeightGroups::group_of(int word) const {
  return word * kWordDepth / static_cast<int>(p_.b.format.block) % count_;
}

void WeightGroups::make(const WeightBlock& block, int instruction, State& state, std::span<const Reg> into) {
  if (halves_) return make_halves(block, instruction, state, into);
  for (int i = 0; i < 2; ++i)
    make_bytes(block, 2 * instruction + i, state, into.subspan(static_cast<std::size_t>(2 * i), 2));
}

void WeightGroups::make_halves(const WeightBlock& block, int word, State& state, std::span<const Reg> into) {
  if (word == 0 || group_of(word) != group_of(word - 1)) {
    const auto group = static_cast<std::size_t>(group_of(word));
    state.factors =
        halves_->factors(block.scales.at(group), p_.b.zero_points() ? block.zeros.at(group) : Reg{});
  }
  halves_->make(block.words.at(static_cast<std::size_t>(word)), state.factors, into);
}

void WeightGroups::make_bytes(const WeightBlock& block, int word, State& state, std::span<const Reg> into) {
  const auto group = static_cast<std::size_t>(group_of(word));
  if (word * kWordDepth % run_ == 0) {
    const int groups = std::max(1, run_ / static_cast<int>(p_.b.format.block));
    state.run = bytes_->run_of(std::span(block.scales).subspan(group, static_cast<std::size_t>(groups)));
  }
  if (word == 0 || group_of(word) != group_of(word - 1))
    state.tables = bytes_->tables_of(state.run, block.scales.at(group));
  bytes_->make(block.words.at(static_cast<std::size_t>(word)), state.tables, into);
}

}  // namespace ptxloom::scaled_gemm
