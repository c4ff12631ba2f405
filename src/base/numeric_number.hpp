// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/numeric_format.hpp"
#include "ptxloom/numeric.hpp"

// Exact arithmetic between formats. Operands are unpacked to a Number, a 128-bit significand times a power of
// two. Products are exact, other results exact up to a lowest bit that represents everything below it;
// round() converts the result to a format's bits, rounding once. Uses integers only.
namespace ptxloom::base {

__extension__ using uint128 = unsigned __int128;

struct Number {
  enum class Kind : std::uint8_t { zero, finite, infinite, nan };
  Kind kind = Kind::zero;
  bool negative = false;
  int exponent = 0;         ///< the value is significand * 2^exponent
  uint128 significand = 0;  ///< not zero when finite; below 2^127

  bool is_nan() const { return kind == Kind::nan; }
};

/// Significands have at most 53 bits.
Number unpack(const FloatFormat& format, std::uint64_t bits);
Number from_integer(bool negative, std::uint64_t magnitude);

/// The product; significands may have at most 63 bits.
Number multiply(const Number& a, const Number& b);
/// The quotient, exact up to a lowest bit for the remainder; significands may have at most 53 bits.
Number divide(const Number& a, const Number& b);
/// The square root, exact up to a lowest bit for the remainder.
Number square_root(const Number& a);
/// The sum; `rounding` decides the sign of a zero from cancellation.
Number add(const Number& a, const Number& b, Rounding rounding);

/// e of the finite number 1.xxx * 2^e.
int leading_exponent(const Number& number);
/// significand / 2^shift as an integer; the sign matters for rm and rp. A negative shift must not overflow.
uint128 shift_right(uint128 significand, int shift, bool negative, Rounding rounding);
/// Rounds to an integral value.
Number to_integral(const Number& number, Rounding rounding);
/// The bits of the number in a format, like the result of cvt.
std::uint64_t round(const FloatFormat& format, Number number, Rounding rounding, Saturation saturation);

}  // namespace ptxloom::base
