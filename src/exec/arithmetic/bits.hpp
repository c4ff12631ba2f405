// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "exec/arithmetic/elementwise.hpp"

// What logic, shifts, bit fields and byte permutation compute (PTX ISA 9.7.1 and 9.7.8), for values and for
// the bits that are undefined.
namespace ptxloom::exec {

template <class T>
inline constexpr std::uint32_t kBits = 8 * sizeof(T);

using Count = std::uint32_t;

// Shifts by more than the width give zero, or the sign.
template <class T>
T shift_left(T a, Count n) {
  return n >= kBits<T> ? T{0} : static_cast<T>(static_cast<Storage<T>>(a) << n);
}
template <class T>
T shift_right(T a, Count n) {
  if (n < kBits<T>) return static_cast<T>(a >> n);
  return static_cast<T>(a < 0 ? ~T{0} : T{0});
}

// The 64 bits b:a shifted; .l gives the high word, .r the low one.
template <bool left, bool clamp>
std::uint32_t funnel(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::uint32_t n = clamp ? std::min(c, 32u) : c & 31;
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  return static_cast<std::uint32_t>(left ? both << n >> 32 : both >> n);
}

// Swaps adjacent bits, then adjacent pairs of bits, and so on.
template <class T>
T reverse(T value) {
  for (std::uint32_t width = 1; width < kBits<T>; width *= 2) {
    const T low = static_cast<T>(~T{0}) / static_cast<T>((T{1} << width) + 1);  // every other field
    value = static_cast<T>((value & low) << width | (value >> width & low));
  }
  return value;
}

// `length` bits from `start`; beyond the top they are copies of the sign (PTX ISA 9.7.1.20).
template <class T>
T extract(T a, std::uint32_t start, std::uint32_t length) {
  using U = std::make_unsigned_t<T>;
  start &= 255;
  length &= 255;
  const auto bit = [&](std::uint32_t i) { return static_cast<U>(static_cast<U>(a) >> i & 1); };
  const bool negative =
      std::is_signed_v<T> && length != 0 && bit(std::min(start + length - 1, kBits<T> - 1)) != 0;
  U field = start >= kBits<T> ? U{0} : static_cast<U>(static_cast<U>(a) >> start);
  const std::uint32_t valid = start >= kBits<T> ? 0 : std::min(length, kBits<T> - start);
  const U mask = valid >= kBits<T> ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << valid) - 1);
  field &= mask;
  return static_cast<T>(negative ? field | static_cast<U>(~mask) : field);
}

template <class T>
T insert(T a, T b, std::uint32_t start, std::uint32_t length) {
  start &= 255;
  length &= 255;
  if (start >= kBits<T> || length == 0) return b;
  const T ones = length >= kBits<T> ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
  const T mask = static_cast<T>(ones << start);
  return static_cast<T>((b & ~mask) | (static_cast<T>(a << start) & mask));
}

// The low n bits of a, sign-extended if T is signed.
template <class T, bool clamp>
T extend(T a, std::uint32_t n) {
  if (clamp && n >= 32) return a;
  n &= 31;
  if (n == 0) return 0;
  return static_cast<T>(static_cast<T>(static_cast<std::uint32_t>(a) << (32 - n)) >> (32 - n));
}

// Bit i of the result is the table's bit at index (a b c), formed from bit i of each input (PTX ISA 9.7.8.6).
inline std::uint32_t look_up(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t table) {
  std::uint32_t result = 0;
  for (std::uint32_t row = 0; row < 8; ++row) {
    const std::uint32_t wanted = 0 - (table >> row & 1);
    result |= wanted & ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
  }
  return result;
}

// Four selectors of four bits: three choose one of the eight bytes b:a, the top one copies the sign of that
// byte.
inline std::uint32_t permute(std::uint32_t a, std::uint32_t b, std::uint32_t selectors) {
  std::uint32_t result = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t selector = selectors >> (4 * i);
    const std::uint32_t word = (selector & 4) != 0 ? b : a, byte = word >> (8 * (selector & 3)) & 0xff;
    const std::uint32_t sign = (byte & 0x80) != 0 ? 0xff : 0;
    result |= ((selector & 8) != 0 ? sign : byte) << (8 * i);
  }
  return result;
}

// The named modes: the bytes they take for each value of the two low bits of C (PTX ISA 9.7.9.7).
struct PermuteMode {
  std::string_view name;
  std::array<std::uint16_t, 4> selectors;
};
inline constexpr std::array kPermuteModes{
    PermuteMode{"f4e", {0x3210, 0x4321, 0x5432, 0x6543}},
    PermuteMode{"b4e", {0x5670, 0x6701, 0x7012, 0x0123}},
    PermuteMode{"rc8", {0x0000, 0x1111, 0x2222, 0x3333}},
    PermuteMode{"ecl", {0x3210, 0x3211, 0x3222, 0x3333}},
    PermuteMode{"ecr", {0x0000, 0x1110, 0x2210, 0x3210}},
    PermuteMode{"rc16", {0x1010, 0x3232, 0x1010, 0x3232}},
};

}  // namespace ptxloom::exec
