// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ptxloom/type.hpp"

// A floating-point format in numbers: sign, exponent and mantissa fields, from the top. Formats differ in the
// meaning of the largest patterns (Specials) and, for scale factors, in having no sign or no zero.
namespace ptxloom::base {

enum class Specials : std::uint8_t {
  ieee,      ///< an exponent of all ones is infinity or NaN
  nan_only,  ///< the pattern of all ones is NaN; there is no infinity
  none,      ///< every pattern is a number
};

struct FloatFormat {
  int exponent_bits = 0;
  int mantissa_bits = 0;
  int bias = 0;
  Specials specials = Specials::ieee;
  std::uint64_t nan = 0;  ///< the NaN that conversions give; without one, what they give instead
  int padding = 0;        ///< ignored low bits
  bool has_sign = true;
  bool drops_sign = false;  ///< without a sign: negative values become their magnitude, not 0
  bool has_zero = true;     ///< if not, exponent field 0 is like any other: no zero, no subnormals

  constexpr bool is_f64() const { return mantissa_bits == 52; }
  constexpr int min_exponent() const { return (has_zero ? 1 : 0) - bias; }  ///< of normal numbers
  constexpr int sign_bit() const { return exponent_bits + mantissa_bits; }  ///< without padding
  /// The sign bit if `negative`; 0 for formats without a sign.
  constexpr std::uint64_t sign(bool negative) const {
    return static_cast<std::uint64_t>(negative && has_sign) << (sign_bit() + padding);
  }
  constexpr std::uint64_t infinity() const {
    return ((1ull << exponent_bits) - 1) << (mantissa_bits + padding);
  }
  constexpr std::uint64_t max_finite() const {
    const std::uint64_t all_ones = (1ull << sign_bit()) - 1;
    const std::uint64_t reserved =
        specials == Specials::ieee ? 1ull << mantissa_bits : specials == Specials::nan_only;
    return (all_ones - reserved) << padding;
  }
  /// The quiet version of a NaN.
  constexpr std::uint64_t quiet(std::uint64_t bits) const { return bits | 1ull << (mantissa_bits - 1); }
  constexpr std::uint64_t one() const {
    return static_cast<std::uint64_t>(bias) << (mantissa_bits + padding);
  }
};

inline constexpr FloatFormat kF64{
    .exponent_bits = 11, .mantissa_bits = 52, .bias = 1023, .nan = 0xfff8'0000'0000'0000};
inline constexpr FloatFormat kF32{.exponent_bits = 8, .mantissa_bits = 23, .bias = 127, .nan = 0x7fff'ffff};
inline constexpr FloatFormat kTf32{
    .exponent_bits = 8, .mantissa_bits = 10, .bias = 127, .nan = 0x7fff'e000, .padding = 13};
inline constexpr FloatFormat kF16{.exponent_bits = 5, .mantissa_bits = 10, .bias = 15, .nan = 0x7fff};
inline constexpr FloatFormat kBf16{.exponent_bits = 8, .mantissa_bits = 7, .bias = 127, .nan = 0x7fff};
inline constexpr FloatFormat kE5m2{.exponent_bits = 5, .mantissa_bits = 2, .bias = 15, .nan = 0x7f};
inline constexpr FloatFormat kE4m3{
    .exponent_bits = 4, .mantissa_bits = 3, .bias = 7, .specials = Specials::nan_only, .nan = 0x7f};
inline constexpr FloatFormat kE3m2{
    .exponent_bits = 3, .mantissa_bits = 2, .bias = 3, .specials = Specials::none, .nan = 0x1f};
inline constexpr FloatFormat kE2m3{
    .exponent_bits = 2, .mantissa_bits = 3, .bias = 1, .specials = Specials::none, .nan = 0x1f};
inline constexpr FloatFormat kE2m1{
    .exponent_bits = 2, .mantissa_bits = 1, .bias = 1, .specials = Specials::none, .nan = 0x7};
inline constexpr FloatFormat kUe8m0{.exponent_bits = 8,
                                    .mantissa_bits = 0,
                                    .bias = 127,
                                    .specials = Specials::nan_only,
                                    .nan = 0xff,
                                    .has_sign = false,
                                    .drops_sign = true,
                                    .has_zero = false};
inline constexpr FloatFormat kUe4m3{.exponent_bits = 4,
                                    .mantissa_bits = 3,
                                    .bias = 7,
                                    .specials = Specials::nan_only,
                                    .nan = 0x7f,
                                    .has_sign = false};
inline constexpr FloatFormat kUe5m3{.exponent_bits = 5,
                                    .mantissa_bits = 3,
                                    .bias = 15,
                                    .specials = Specials::nan_only,
                                    .nan = 0xff,
                                    .has_sign = false,
                                    .drops_sign = true};

/// The format of a type; nullptr for types that are not floats or have several lanes.
const FloatFormat* find_format(Type type);

}  // namespace ptxloom::base
