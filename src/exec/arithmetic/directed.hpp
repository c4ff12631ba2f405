// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "exec/arithmetic/half.hpp"
#include "exec/arithmetic/select.hpp"
#include "ptxloom/numeric.hpp"

// Directed rounding on a host that rounds to nearest: the nearest value is either the right one or its
// neighbour, decided by the side on which the exact value lies. Branch-free, so that compilers vectorise
// loops. The exact value is given as a double that equals it or stands for it: rounded to odd (half.hpp),
// which stays on the same side of every value of lower precision.
namespace ptxloom::exec {

inline constexpr std::uint64_t kSign64 = 0x8000'0000'0000'0000, kInfinity64 = 0x7ff0'0000'0000'0000;

/// Bits of the nearest value, in any IEEE format, given whether the exact value is below or above it.
template <Rounding rounding, class Bits>
Bits step(Bits bits, bool below, bool above) {
  const Bits negative = sign_mask(bits), less{below}, more{above};
  if constexpr (rounding == Rounding::rz)
    return static_cast<Bits>(bits - ((less & ~negative) | (more & negative)));
  if constexpr (rounding == Rounding::rm)
    return static_cast<Bits>(bits + negated(static_cast<Bits>(~negative), less));
  if constexpr (rounding == Rounding::rp) return static_cast<Bits>(bits + negated(negative, more));
  return bits;
}

/// Rounds an exact value to a float.
template <Rounding rounding>
float rounded(double exact) {
  const auto nearest = static_cast<float>(exact);
  if constexpr (rounding == Rounding::rn) return nearest;
  const double back = nearest;
  return std::bit_cast<float>(step<rounding>(std::bit_cast<std::uint32_t>(nearest), exact<back, exact> back));
}

/// The rounding error of a + b, for finite values whose sum is far from the largest.
inline double rest_of_sum(double a, double b, double sum) {
  const double back = sum - a;
  return (a - (sum - back)) + (b - back);
}

/// The sum rounded to odd; `rest` is its rounding error.
inline double to_odd(double sum, double rest) {
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  const bool inexact = (rest < 0) | (rest > 0);
  const std::uint64_t inside = sign_mask(std::bit_cast<std::uint64_t>(rest) ^ bits);
  return std::bit_cast<double>(bits + when(inexact, negated(inside, ~bits & 1)));  // unless it is odd
}

/// A zero sum has the sign of its summands; if they differ, it is negative only for rm.
template <Rounding rounding>
double with_sign_of_zero(double sum, double a, double b) {
  if constexpr (rounding != Rounding::rm) return sum;
  const std::uint64_t sign = (std::bit_cast<std::uint64_t>(a) | std::bit_cast<std::uint64_t>(b)) & kSign64;
  return select(sum == 0, std::bit_cast<double>(sign), sum);
}

/// The exact product plus a third float.
template <Rounding rounding>
double fma_of_floats(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b), addend = c, sum = product + addend;
  return with_sign_of_zero<rounding>(to_odd(sum, rest_of_sum(product, addend, sum)), product, addend);
}

/// .ftz treats as subnormal what is below the smallest normal number when rounded with an unbounded exponent.
/// This is the smallest magnitude that is not.
template <Rounding rounding>
double least_not_tiny(bool negative) {
  constexpr double normal = 0x1p-126, tie = normal * (1 - 0x1p-25);
  constexpr double inward = normal, outward = normal * (1 - 0x1p-24) + 0x1p-179;  // the next double
  if constexpr (rounding == Rounding::rn) return tie;
  if constexpr (rounding == Rounding::rz) return inward;
  if constexpr (rounding == Rounding::rm) return select(negative, outward, inward);
  return select(negative, inward, outward);
}

/// Replaces NaN by PTX's NaN.
inline float canonical(float value) { return select(value != value, std::bit_cast<float>(kNan32), value); }

/// Rounds an exact value to a float with PTX's NaN; `flush` applies .ftz.
template <Rounding rounding, bool flush>
float finished(double exact) {
  const float result = rounded<rounding>(exact);
  auto bits = std::bit_cast<std::uint32_t>(result);
  if constexpr (flush) {
    const bool tiny = std::fabs(exact) < least_not_tiny<rounding>(exact < 0);
    bits = cleared(tiny, ~kSign32, bits);
  }
  return std::bit_cast<float>(select(result != result, kNan32, bits));
}

/// Rounds to an integral value.
template <Rounding rounding, class T>
T integral(T value) {
  if constexpr (rounding == Rounding::rz) return std::trunc(value);
  if constexpr (rounding == Rounding::rm) return std::floor(value);
  if constexpr (rounding == Rounding::rp) return std::ceil(value);
  return std::rint(value);
}

inline float flush_input(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>(cleared((bits & kInfinity32) == 0, ~kSign32, bits));
}

/// A 64-bit integer as the nearest double plus the remainder.
struct WideInteger {
  double nearest, rest;
};
template <class T>
WideInteger wide_integer(T value) {
  // Each half forms the low bits of a double, from which the rest of the double is subtracted.
  constexpr double low_base = 0x1p52, high_base = 0x1p84, negative_base = 0x1p63;
  constexpr bool is_signed = T(-1) < T(0);
  const auto bits = static_cast<std::uint64_t>(value) ^ (is_signed ? kSign64 : 0);
  const double high = std::bit_cast<double>(bits >> 32 | std::bit_cast<std::uint64_t>(high_base)) -
                      (is_signed ? high_base + negative_base : high_base),
               low = std::bit_cast<double>((bits & 0xffff'ffff) | std::bit_cast<std::uint64_t>(low_base)) -
                     low_base;
  const double sum = high + low;
  return {sum, low - (sum - high)};
}

/// Selects the Semantic for a rounding: f.template operator()<rounding>().
template <class F>
auto with_rounding(Rounding rounding, F f) {
  switch (rounding) {
    case Rounding::rz:
      return f.template operator()<Rounding::rz>();
    case Rounding::rm:
      return f.template operator()<Rounding::rm>();
    case Rounding::rp:
      return f.template operator()<Rounding::rp>();
    default:
      return f.template operator()<Rounding::rn>();
  }
}

}  // namespace ptxloom::exec
