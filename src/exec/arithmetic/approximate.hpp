// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "exec/arithmetic/directed.hpp"

// sin, ex2 and similar functions as polynomials in double, in code that compilers vectorise. of(x) has a
// relative error of at most kError; exact(x) is the host library's, which is more accurate. Arguments are f32
// values.
namespace ptxloom::exec {

inline constexpr double kApproximationError = 0x1p-38;  // relative

/// c[0] + x * (c[1] + x * (...)).
template <class... Rest>
double polynomial(double x, double first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return first;
  } else {
    return std::fma(x, polynomial(x, rest...), first);
  }
}

/// Adding this puts an integral value of up to 51 bits into the low bits of the sum.
inline constexpr double kIntegerAt = 0x1.8p52;

inline double clamp_double(double value, double lowest, double highest) {
  const double raised = select(value < lowest, lowest, value);  // NaN passes through
  return select(raised > highest, highest, raised);
}

inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;

/// 2^f - 1 for |f| up to 1/2: Taylor series up to the 10th power.
inline double power_of_two_minus_one(double f) {
  const double x = f * kLn2;
  return x * polynomial(x, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
                        1.0 / 362880, 1.0 / 3628800);
}
/// 2^n for the integral n, where `at` is kIntegerAt + n.
inline double power_at(double at) {
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(at) << 52) + std::bit_cast<std::uint64_t>(1.0));
}

struct PowerOfTwo {
  static double of(double x) {
    const double inside = clamp_double(x, -200, 200), at = inside + kIntegerAt;
    const double power = power_at(at), f = inside - (at - kIntegerAt);
    return std::fma(power, power_of_two_minus_one(f), power);
  }
  static bool is_far(double) { return false; }
  static double exact(double x) { return std::exp2(x); }
};

/// (e^2x - 1) / (e^2x + 1).
struct HyperbolicTangent {
  static double of(double x) {
    const double size = clamp_double(std::fabs(x), 0, 20), t = size * (2 / kLn2), at = t + kIntegerAt;
    const double power = power_at(at), f = t - (at - kIntegerAt);
    const double above = std::fma(power, power_of_two_minus_one(f), power - 1);
    return std::copysign(above / (above + 2), x);
  }
  static bool is_far(double) { return false; }
  static double exact(double x) { return std::tanh(x); }
};

/// m * 2^k with m between sqrt(1/2) and sqrt(2); log2 m from s = (m - 1) / (m + 1) by its series up to the
/// 15th power.
struct BinaryLogarithm {
  static double of(double x) {
    constexpr std::uint64_t root = 0x3fe6'a09e'667f'3bcd, one = 0x3ff0'0000'0000'0000;
    const std::uint64_t shifted = std::bit_cast<std::uint64_t>(x) + (one - root);
    const std::uint64_t exponent = (shifted >> 52) - 1023 + std::bit_cast<std::uint64_t>(kIntegerAt);
    const double m = std::bit_cast<double>((shifted & ((std::uint64_t{1} << 52) - 1)) + root),
                 k = std::bit_cast<double>(exponent) - kIntegerAt;
    const double s = (m - 1) / (m + 1), square = s * s;
    const double series =
        polynomial(square, 1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17);
    const double number = std::fma(s * (2 / kLn2), series, k);
    const double infinity = std::bit_cast<double>(kInfinity64), nan = infinity - infinity;
    const double positive = select(x < infinity, number, x);  // infinity and NaN map to themselves
    return select(x == 0, -infinity, select(x < 0, nan, positive));
  }
  static bool is_far(double) { return false; }
  static double exact(double x) { return std::log2(x); }
};

/// x minus a multiple of pi/2, at most pi/4 in magnitude, and the quadrant. For |x| up to 2^18, where
/// subtracting the multiple times the upper part of pi/2 is exact.
struct Angle {
  double rest;
  std::uint64_t quarter;
};
inline Angle angle_of(double size) {
  constexpr double two_over_pi = 0x1.45f306dc9c883p-1, high = 0x1.921fb54442d18p0,
                   low = 0x1.1a62633145c07p-54;
  const double at = size * two_over_pi + kIntegerAt, turns = at - kIntegerAt;
  return {std::fma(-turns, low, std::fma(-turns, high, size)), std::bit_cast<std::uint64_t>(at)};
}
inline bool is_far_angle(double x) { return (std::fabs(x) > 0x1p18) & (std::fabs(x) < 0x1p200); }
inline double sine_near_zero(double r) {
  const double square = r * r;
  return r * polynomial(square, 1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800,
                        1.0 / 6227020800.0, -1.0 / 1307674368000.0);
}
inline double cosine_near_zero(double r) {
  return polynomial(r * r, 1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800,
                    1.0 / 479001600.0, -1.0 / 87178291200.0, 1.0 / 20922789888000.0);
}
/// The sine of an angle plus `ahead` quarter turns.
inline double sine_of(double size, std::uint64_t ahead) {
  const Angle angle = angle_of(size);
  const std::uint64_t quarter = angle.quarter + ahead;
  const std::uint64_t odd = std::uint64_t{0} - (quarter & 1),
                      cosine = std::bit_cast<std::uint64_t>(cosine_near_zero(angle.rest)),
                      sine = std::bit_cast<std::uint64_t>(sine_near_zero(angle.rest));
  const std::uint64_t value = (cosine & odd) | (sine & ~odd);
  return std::bit_cast<double>(value ^ (quarter & 2) << 62);
}
inline double nan_of_infinity(double result, double x) {
  return select(std::fabs(x) < 0x1p200, result, std::bit_cast<double>(kInfinity64 + 1));
}

struct Sine {
  static double of(double x) {
    const std::uint64_t sign = std::bit_cast<std::uint64_t>(x) & kSign64;
    const double value = sine_of(std::fabs(x), 0);
    return nan_of_infinity(std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ sign), x);
  }
  static bool is_far(double x) { return is_far_angle(x); }
  static double exact(double x) { return std::sin(x); }
};
struct Cosine {
  static double of(double x) { return nan_of_infinity(sine_of(std::fabs(x), 1), x); }
  static bool is_far(double x) { return is_far_angle(x); }
  static double exact(double x) { return std::cos(x); }
};

}  // namespace ptxloom::exec
