// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>

// What the parts compute with sizes and counts.
namespace ptxloom::kit {

inline bool power_of_two(int x) { return x > 0 && std::has_single_bit(static_cast<unsigned>(x)); }

/// The binary logarithm; `x` must be a power of two.
inline int log2(int x) { return std::countr_zero(static_cast<unsigned>(x)); }

/// The next multiple of `to`.
template <std::integral T>
T rounded_up(T x, T to) {
  return (x + to - 1) / to * to;
}

}  // namespace ptxloom::kit
