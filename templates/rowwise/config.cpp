// SPDX-License-Identifier: Apache-2.0
#include "rowwise/config.hpp"

#include <algorithm>

namespace ptxloom::rowwise_kernel {
namespace {

constexpr int kOtherRegisters = 28;  // addresses, positions, partial results
constexpr int kOfTensor = 6;         // more for each tensor besides x and y
constexpr int kOfShift = 22;         // more for each vector of n, if it is at another offset in each row
constexpr int kOfEnds = 12;          // more if each part of a row may be at its end, and one for each slot

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

/// Registers of a slot: elements as they lie in memory, or the f32 sums with the residual, and before these
/// both summands.
int slot_registers(const Problem& p, int vector) {
  const int x = kit::packed_registers(p.x, vector);
  return p.residual ? std::max(vector, x + kit::packed_registers(*p.residual, vector)) : x;
}

}  // namespace

kit::Team Config::team() const {
  if (kind == TeamKind::warp) return kit::Team::part_of_warp(lanes);
  return kit::Team::cluster(threads, blocks);
}

kit::RowShape Config::shape(const Problem& p) const {
  return {.length = p.n, .pitch = p.pitch_x, .vector = vector, .team = team()};
}

bool Config::keeps_row(const Problem& p) const { return shape(p).slots() * vector <= elements; }

int Config::slots(const Problem& p) const {
  return keeps_row(p) ? shape(p).slots() : std::max(elements / vector, 1);
}

std::uint64_t Config::grid(const Problem& p) const {
  return divide_up(p.rows, static_cast<std::uint64_t>(teams_per_block())) *
         static_cast<std::uint64_t>(blocks);
}

int estimated_registers(const Problem& p, const Config& c) {
  const int held = c.slots(p) * slot_registers(p, c.vector);
  const int vectors = (p.residual ? 1 : 0) + (p.weight ? 1 : 0) + (p.bias ? 1 : 0);
  const int shifts = c.shape(p).shifted() && c.keeps_row(p) ? (p.weight ? 1 : 0) + (p.bias ? 1 : 0) : 0;
  const int sums = p.residual ? c.slots(p) * c.vector / 2 : 0;
  const int ends = c.keeps_row(p) ? 0 : kOfEnds + c.slots(p) + sums;
  return kOtherRegisters + held + ends + vectors * kOfTensor + shifts * kOfShift + (2 + vectors) * c.vector;
}

int resident_blocks(const TargetInfo& chip, const Problem& p, const Config& c) {
  return std::max(1, chip.resident_blocks(c.threads, estimated_registers(p, c)));
}

}  // namespace ptxloom::rowwise_kernel
