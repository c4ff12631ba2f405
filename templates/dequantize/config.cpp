// SPDX-License-Identifier: Apache-2.0
#include "dequantize/config.hpp"

#include <algorithm>

#include "ptxloom/kit/narrow.hpp"

namespace ptxloom::dequantize_kernel {
namespace {

constexpr int kOtherRegisters = 32;  // addresses, positions, scales

template <class T>
T divide_up(T a, T b) {
  return (a + b - 1) / b;
}

}  // namespace

// If chunks begin with the row, whatever the pitches, only the remainder of the leading pitch counts.
kit::RowShape Config::shape(const Problem& p) const {
  const auto chunk = static_cast<std::uint64_t>(vector);
  return {.length = p.n,
          .pitch = p.chunks_may_shift(vector) ? p.pitch_x : divide_up<std::uint64_t>(p.n, chunk) * chunk,
          .vector = vector,
          .team = team()};
}

int Config::slots(const Problem& p) const {
  return std::min(shape(p).slots(), std::max(elements / vector, 1));
}

int Config::parts(const Problem& p) const { return divide_up(shape(p).slots(), slots(p)); }

std::uint64_t Config::items(const Problem& p) const {
  return std::uint64_t{p.rows} * static_cast<std::uint64_t>(parts(p));
}

std::uint64_t Config::grid(const Problem& p) const {
  return divide_up(items(p), static_cast<std::uint64_t>(threads / lanes));
}

int estimated_registers(const Problem& p, const Config& c) {
  return kOtherRegisters + c.slots(p) * (kit::narrow_words(p.format->element, c.vector) + 1) + 2 * c.vector;
}

}  // namespace ptxloom::dequantize_kernel
