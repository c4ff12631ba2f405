// SPDX-License-Identifier: Apache-2.0
#include "quantize/config.hpp"

#include <algorithm>

#include "ptxloom/kit/packed.hpp"

namespace ptxloom::quantize_kernel {
namespace {

constexpr int kOtherRegisters = 32;  // addresses, positions, scales

template <class T>
T divide_up(T a, T b) {
  return (a + b - 1) / b;
}

}  // namespace

kit::Team Config::team() const {
  return kind == TeamKind::warp ? kit::Team::part_of_warp(lanes) : kit::Team::block(threads);
}

kit::Team Config::row_team(const Problem& p) const {
  return p.whole_blocks() ? kit::Team::part_of_warp(lanes) : team();
}

// If chunks begin with the row, whatever the pitch of x, only the remainder of the pitch counts.
kit::RowShape Config::shape(const Problem& p) const {
  const auto chunk = static_cast<std::uint64_t>(vector);
  return {.length = p.n,
          .pitch = p.chunks_may_shift(vector) ? p.pitch_x : divide_up<std::uint64_t>(p.n, chunk) * chunk,
          .vector = vector,
          .team = row_team(p)};
}

bool Config::keeps_row(const Problem& p) const {
  return p.whole_blocks() || shape(p).slots() * vector <= elements;
}

int Config::slots(const Problem& p) const {
  if (p.whole_blocks()) return std::max(elements / vector, 1);
  return keeps_row(p) ? shape(p).slots() : std::max(elements / vector, 1);
}

int Config::parts(const Problem& p) const {
  return p.whole_blocks() ? 1 : divide_up(shape(p).slots(), slots(p));
}

int Config::lanes_per_group(const Problem& p) const {
  return std::max(static_cast<int>(p.group) / vector, 1);
}

std::uint64_t Config::items(const Problem& p) const {
  if (p.whole_blocks()) return std::uint64_t{p.scale_rows()} * p.scales_per_row();
  return std::uint64_t{p.rows} * (p.whole_rows() ? 1U : static_cast<std::uint64_t>(parts(p)));
}

std::uint64_t Config::grid_x(const Problem& p) const {
  return divide_up(items(p) / grid_y(p), static_cast<std::uint64_t>(teams_per_block()));
}

std::uint64_t Config::grid_y(const Problem& p) const {
  return p.transposed ? static_cast<std::uint64_t>(parts(p)) : 1;
}

int estimated_registers(const Problem& p, const Config& c) {
  return kOtherRegisters + c.slots(p) * kit::packed_registers(p.x, c.vector) + 2 * c.vector;
}

}  // namespace ptxloom::quantize_kernel
