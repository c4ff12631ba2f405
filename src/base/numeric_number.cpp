// SPDX-License-Identifier: Apache-2.0
#include "base/numeric_number.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace ptxloom::base {
namespace {

using Kind = Number::Kind;

constexpr int kTopBit = 125;  // of aligned summands: leaves one bit for the carry

int bit_width(uint128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  const auto low = static_cast<std::uint64_t>(value);
  return static_cast<int>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(low));
}

// Shifts left until the top bit is kTopBit.
Number normalized(Number number) {
  const int shift = kTopBit + 1 - bit_width(number.significand);
  number.significand <<= shift;
  number.exponent -= shift;
  return number;
}

// Shifts the significand right and records lost bits in the lowest bit. That bit is far enough below any
// format's precision to decide ties: bits are lost only if the summands are at least 20 binary orders apart
// (products have 106 bits), and then cancellation removes at most one bit at the top.
uint128 shift_right_sticky(uint128 significand, int shift) {
  if (shift >= 128) return 1;
  const uint128 kept = significand >> shift;
  return kept | static_cast<uint128>((kept << shift) != significand);
}

bool rounds_up(uint128 kept, uint128 rest, uint128 half, bool negative, Rounding rounding) {
  switch (rounding) {
    case Rounding::rn:
      return rest > half || (rest == half && (kept & 1) != 0);
    case Rounding::rna:
      return rest >= half;
    case Rounding::rz:
      return false;
    case Rounding::rm:
      return negative && rest != 0;
    case Rounding::rp:
      return !negative && rest != 0;
  }
  return false;
}

// The magnitude that represents a value above the largest finite one.
std::uint64_t overflow(const FloatFormat& format, bool negative, Rounding rounding, Saturation saturation) {
  const bool toward_zero = rounding == Rounding::rz || (rounding == Rounding::rm && !negative) ||
                           (rounding == Rounding::rp && negative);
  if (saturation == Saturation::satfinite || toward_zero || format.specials == Specials::none) {
    return format.max_finite();
  }
  return format.specials == Specials::ieee ? format.infinity() : format.nan;
}

std::uint64_t round_finite(const FloatFormat& format, const Number& number, Rounding rounding,
                           Saturation saturation) {
  const int exponent = std::max(leading_exponent(number), format.min_exponent());
  if (exponent > format.bias + 1) return overflow(format, number.negative, rounding, saturation);
  const int shift = exponent - format.mantissa_bits - number.exponent;
  auto kept = static_cast<std::uint64_t>(shift_right(number.significand, shift, number.negative, rounding));
  if (!format.has_zero) kept = std::max<std::uint64_t>(kept, 1);
  // The leading one of a normal number adds 1 to the exponent field, and so does a carry out of the mantissa.
  const auto field = static_cast<std::uint64_t>(exponent - format.min_exponent());
  const std::uint64_t bits = ((field << format.mantissa_bits) + kept - (format.has_zero ? 0 : 1))
                             << format.padding;
  return bits > format.max_finite() ? overflow(format, number.negative, rounding, saturation) : bits;
}

}  // namespace

Number unpack(const FloatFormat& format, std::uint64_t bits) {
  bits >>= format.padding;
  const std::uint64_t mantissa_mask = (1ull << format.mantissa_bits) - 1;
  const std::uint64_t exponent_mask = (1ull << format.exponent_bits) - 1;
  const std::uint64_t mantissa = bits & mantissa_mask;
  const std::uint64_t field = (bits >> format.mantissa_bits) & exponent_mask;
  Number number{.negative = format.has_sign && ((bits >> format.sign_bit()) & 1) != 0};
  if (field == exponent_mask && format.specials == Specials::ieee) {
    number.kind = mantissa == 0 ? Kind::infinite : Kind::nan;
  } else if (field == exponent_mask && mantissa == mantissa_mask && format.specials == Specials::nan_only) {
    number.kind = Kind::nan;
  } else {
    const bool normal = field != 0 || !format.has_zero;
    number.significand = mantissa | static_cast<std::uint64_t>(normal) << format.mantissa_bits;
    number.exponent = static_cast<int>(normal ? field : 1) - format.bias - format.mantissa_bits;
    number.kind = number.significand == 0 ? Kind::zero : Kind::finite;
  }
  return number;
}

Number from_integer(bool negative, std::uint64_t magnitude) {
  return {.kind = magnitude == 0 ? Kind::zero : Kind::finite, .negative = negative, .significand = magnitude};
}

Number multiply(const Number& a, const Number& b) {
  const bool negative = a.negative != b.negative;
  if (a.is_nan() || b.is_nan()) return {.kind = Kind::nan};
  if (a.kind == Kind::infinite || b.kind == Kind::infinite) {
    const bool zero = a.kind == Kind::zero || b.kind == Kind::zero;
    return {.kind = zero ? Kind::nan : Kind::infinite, .negative = negative};
  }
  if (a.kind == Kind::zero || b.kind == Kind::zero) return {.negative = negative};
  return {Kind::finite, negative, a.exponent + b.exponent,
          static_cast<uint128>(static_cast<std::uint64_t>(a.significand)) *
              static_cast<std::uint64_t>(b.significand)};
}

Number add(const Number& a, const Number& b, Rounding rounding) {
  if (a.is_nan() || b.is_nan()) return {.kind = Kind::nan};
  if (a.kind == Kind::infinite && b.kind == Kind::infinite)
    return a.negative == b.negative ? a : Number{Kind::nan};
  if (a.kind == Kind::infinite) return a;
  if (b.kind == Kind::infinite) return b;
  if (a.kind == Kind::zero && b.kind == Kind::zero) {
    return {.negative = a.negative == b.negative ? a.negative : rounding == Rounding::rm};
  }
  if (a.kind == Kind::zero) return b;
  if (b.kind == Kind::zero) return a;

  Number large = normalized(a);
  Number small = normalized(b);
  if (std::pair(large.exponent, large.significand) < std::pair(small.exponent, small.significand)) {
    std::swap(large, small);
  }
  small.significand = shift_right_sticky(small.significand, large.exponent - small.exponent);
  if (large.negative == small.negative) {
    large.significand += small.significand;
  } else {
    large.significand -= small.significand;
    if (large.significand == 0) return {.negative = rounding == Rounding::rm};
  }
  return large;
}

Number divide(const Number& a, const Number& b) {
  const bool negative = a.negative != b.negative;
  if (a.is_nan() || b.is_nan() || (a.kind == b.kind && a.kind != Kind::finite)) return {.kind = Kind::nan};
  if (a.kind == Kind::infinite || b.kind == Kind::zero) return {.kind = Kind::infinite, .negative = negative};
  if (a.kind == Kind::zero || b.kind == Kind::infinite) return {.negative = negative};
  const Number dividend = normalized(a);  // 126 bits by 53 or fewer: a quotient of more than 72
  const uint128 quotient = dividend.significand / b.significand;
  const bool exact = quotient * b.significand == dividend.significand;
  return {Kind::finite, negative, dividend.exponent - b.exponent, quotient | static_cast<uint128>(!exact)};
}

Number square_root(const Number& a) {
  if (a.kind == Kind::zero || a.is_nan()) return a;
  if (a.negative) return {.kind = Kind::nan};
  if (a.kind == Kind::infinite) return a;
  Number square = normalized(a);
  if (square.exponent % 2 != 0) {
    square.significand <<= 1;
    --square.exponent;
  }
  uint128 root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const uint128 next = root | uint128{1} << bit;
    if (next * next <= square.significand) root = next;
  }
  const bool exact = root * root == square.significand;
  return {Kind::finite, false, square.exponent / 2 - 1, root << 1 | static_cast<uint128>(!exact)};
}

int leading_exponent(const Number& number) { return number.exponent + bit_width(number.significand) - 1; }

uint128 shift_right(uint128 significand, int shift, bool negative, Rounding rounding) {
  if (shift <= 0) return significand << -shift;
  if (shift >= 128) return rounds_up(0, 1, 2, negative, rounding) ? 1 : 0;  // less than half
  const uint128 kept = significand >> shift;
  const uint128 rest = significand - (kept << shift);
  return kept + (rounds_up(kept, rest, uint128{1} << (shift - 1), negative, rounding) ? 1 : 0);
}

Number to_integral(const Number& number, Rounding rounding) {
  if (number.kind != Kind::finite || number.exponent >= 0) return number;
  const uint128 integer = shift_right(number.significand, -number.exponent, number.negative, rounding);
  return {integer == 0 ? Kind::zero : Kind::finite, number.negative, 0, integer};
}

std::uint64_t round(const FloatFormat& format, Number number, Rounding rounding, Saturation saturation) {
  if (number.is_nan()) return format.nan;
  if (!format.has_sign) {
    if (number.negative && !format.drops_sign) return 0;
    number.negative = false;
  }
  std::uint64_t magnitude = 0;
  if (number.kind == Kind::infinite) magnitude = overflow(format, number.negative, Rounding::rn, saturation);
  if (number.kind == Kind::finite) magnitude = round_finite(format, number, rounding, saturation);
  return magnitude | format.sign(number.negative);
}

}  // namespace ptxloom::base
