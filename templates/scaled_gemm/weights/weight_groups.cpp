// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/weights/weight_groups.hpp"

#include <algorithm>
#include <string>

#include "scaled_gemm/weights/largest_scales.hpp"

namespace ptxloom::scaled_gemm {
namespace {

constexpr int kWordDepth = 16;                  // elements of k that share a word of 4-bit weights
constexpr int kWordElements = 8;                // of a thread among them
constexpr int kWordBytes = 4, kMostVector = 4;  // words of a load
constexpr std::size_t kFragment = 4;            // registers of an instruction

}  // namespace

WeightGroups::WeightGroups(KernelBuilder& k, const Problem& p, int tile_k, Reg table)
    : k_(k), p_(p), layout_(p.b.weights()), tile_k_(tile_k), count_(count_of(p, tile_k)) {
  if (p.b.bytes()) {
    wide_.emplace(k, p);
    return;
  }
  if (!p.row_scales()) {
    halves_.emplace(k, p);
    return;
  }
  bytes_.emplace(k, p, table);
  run_ = run_depth(p, tile_k);
}

WeightBlock WeightGroups::allocate() const {
  return {.words = k_.regs(b32, p_.b.words_in(tile_k_)),
          .scales = k_.regs(b32, scale_registers(p_, tile_k_)),
          .zeros = k_.regs(b32, p_.b.zero_points() ? count_ : 0)};
}

// The words of a thread in a tile, 4 or 6, are contiguous and loaded in vectors of 4 or 2.
void WeightGroups::load_words(std::string_view load, const WeightBlock& block, Reg from) const {
  const int of_tile = layout_.thread_bytes() / kWordBytes,
            vector = of_tile % kMostVector == 0 ? kMostVector : 2;
  const std::string opcode = std::string(load) + ".v" + std::to_string(vector) + ".b32";
  for (int i = 0; i < static_cast<int>(block.words.size()); i += vector) {
    const auto tile = static_cast<std::uint64_t>(i / of_tile) * layout_.tile_bytes();
    k_.emit(opcode,
            std::span(block.words).subspan(static_cast<std::size_t>(i), static_cast<std::size_t>(vector)),
            k_.at(from, static_cast<std::int64_t>(tile) + i % of_tile * kWordBytes));
  }
}

Reg WeightGroups::group_at(KernelBuilder& k, const Problem& p, Reg depth) {
  return p.b.scales() == 1 ? k.mov(u32, 0) : k.div(depth, static_cast<int>(p.b.format.block));
}

void WeightGroups::load_scales(std::string_view load, const WeightBlock& block, Reg from, Reg depth,
                               Reg end) const {
  const int size = p_.b.format.scale.bytes();
  const char* const type = size == 1 ? ".u16" : size == 2 ? ".b32" : ".v2.b32";
  for (int i = 0; i < count_; ++i) {
    const Scales pair = scales_of(block, i);
    const Address at = k_.at(from, i * kit::WeightLayout::kTileRows * size);
    if (pair.size() == 1)
      k_.emit(std::string(load) + type, pair[0], at);
    else
      k_.emit(std::string(load) + type, pair, at);
    for (const Reg& scale : pair) clear_behind(scale, i, depth, end);
  }
}

// Groups behind the end of k exist, but may hold anything. Their activations are zero, and so must be their
// scales: zero times infinity or NaN is not.
void WeightGroups::clear_behind(Reg scale, int group, Reg depth, Reg end) const {
  if (group == 0 || p_.k % kit::WeightLayout::kDepthUnit == 0) return;
  const Reg inside = k_.lt(k_.add(depth, group * static_cast<int>(p_.b.format.block)), end);
  k_.emit("selp.b32", scale, scale, 0, inside);
}

int WeightGroups::group_of(int depth) const { return depth / static_cast<int>(p_.b.format.block) % count_; }

WeightGroups::Scales WeightGroups::scales_of(const WeightBlock& block, int group, int count) const {
  const auto registers = static_cast<std::size_t>(scale_registers(p_));
  return std::span(block.scales)
      .subspan(static_cast<std::size_t>(group) * registers, static_cast<std::size_t>(count) * registers);
}

void WeightGroups::begin(State& state, Reg scales, Reg thread) {
  if (needs_largest()) state.run = bytes_->run_of_largest(largest_scales(k_, p_, scales, thread));
}

void WeightGroups::make(const WeightBlock& block, int first, State& state, std::span<const Reg> into) {
  const auto each = [&](const auto& body) {
    for (std::size_t i = 0; i < into.size() / kFragment; ++i)
      body(first + static_cast<int>(i), into.subspan(i * kFragment, kFragment));
  };
  const bool caps = halves_ && halves_->caps_scales();
  if (caps && first == 0) state.above_one = halves_->any_above_one(block.scales);
  each([&](int instruction, std::span<const Reg> four) {
    if (wide_) return make_wide(block, instruction, state, four);
    if (halves_) return make_halves(block, instruction, state, four);
    make_bytes(block, 2 * instruction, state, four.first(2));
    make_bytes(block, 2 * instruction + 1, state, four.last(2));
  });
  if (!caps) return;
  k_.if_(state.above_one, [&] {
    each([&](int instruction, std::span<const Reg> four) {
      halves_->raise(scales_of(block, group_of(instruction * kWordDepth)), four);
    });
  });
}

std::span<const Reg> WeightGroups::unit_of(const WeightBlock& block, int number) const {
  const auto words = static_cast<std::size_t>(layout_.unit_words());
  const int of_unit = layout_.unit_elements() / kWordElements;
  return std::span(block.words).subspan(static_cast<std::size_t>(number / of_unit) * words, words);
}

Reg WeightGroups::zeros_of(const WeightBlock& block, int group) const {
  return p_.b.zero_points() ? block.zeros.at(static_cast<std::size_t>(group)) : Reg{};
}

void WeightGroups::make_halves(const WeightBlock& block, int instruction, State& state,
                               std::span<const Reg> into) {
  const int depth = instruction * kWordDepth, group = group_of(depth);
  if (begins_group(depth)) state.factors = halves_->factors(scales_of(block, group), zeros_of(block, group));
  halves_->make(unit_of(block, instruction), instruction, state.factors, into);
}

void WeightGroups::make_wide(const WeightBlock& block, int instruction, State& state,
                             std::span<const Reg> into) {
  const int depth = instruction * instruction_depth(p_);
  if (begins_group(depth)) state.wide = wide_->factors(scales_of(block, group_of(depth)));
  wide_->make(std::span(block.words).subspan(static_cast<std::size_t>(2 * instruction), 2), state.wide, into);
}

void WeightGroups::make_bytes(const WeightBlock& block, int number, State& state, std::span<const Reg> into) {
  const int depth = number * kWordDepth, group = group_of(depth);
  if (!needs_largest() && depth % run_ == 0)
    state.run = bytes_->run_of(scales_of(block, group, p_.b.groups_in(run_)));
  if (begins_group(depth))
    state.group = bytes_->group_of(state.run, scales_of(block, group).front(), zeros_of(block, group));
  bytes_->make(unit_of(block, number), number, state.group, into);
}

}  // namespace ptxloom::scaled_gemm
