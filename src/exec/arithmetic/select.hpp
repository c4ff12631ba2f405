// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

// Branch-free selection. g++ does not vectorise a loop in which it has turned `?:` into jumps, which it does
// if one side is costly; masks always vectorise. For the same reason conditions are joined by & and |.
namespace ptxloom::exec {

template <std::unsigned_integral T>
constexpr T mask_of(bool condition) {
  return static_cast<T>(T{0} - T{condition});
}
/// The value if the condition holds, else 0.
template <std::unsigned_integral T>
constexpr T when(bool condition, T value) {
  return static_cast<T>(value & mask_of<T>(condition));
}
template <std::unsigned_integral T>
constexpr T select(bool condition, T yes, T no) {
  return static_cast<T>(when(condition, yes) | when(!condition, no));
}
/// The value, with these bits cleared if the condition holds.
template <std::unsigned_integral T>
constexpr T cleared(bool condition, T bits, T value) {
  return static_cast<T>(value & ~when(condition, bits));
}
inline float select(bool condition, float yes, float no) {
  return std::bit_cast<float>(
      select(condition, std::bit_cast<std::uint32_t>(yes), std::bit_cast<std::uint32_t>(no)));
}
inline double select(bool condition, double yes, double no) {
  return std::bit_cast<double>(
      select(condition, std::bit_cast<std::uint64_t>(yes), std::bit_cast<std::uint64_t>(no)));
}
/// -value where `mask` is all ones, value where it is 0.
template <std::unsigned_integral T>
constexpr T negated(T mask, T value) {
  return static_cast<T>((value ^ mask) - mask);
}
/// All ones if the top bit is set.
template <std::unsigned_integral T>
constexpr T sign_mask(T value) {
  return static_cast<T>(T{0} - (value >> (8 * sizeof(T) - 1)));
}

}  // namespace ptxloom::exec
