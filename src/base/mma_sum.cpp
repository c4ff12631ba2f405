// SPDX-License-Identifier: Apache-2.0
#include "base/mma_sum.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/numeric_arithmetic.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::base {
namespace {

using Kind = Number::Kind;

// Operands are brought to one mantissa length, so that all products are alike.
constexpr int kMantissaBits = 10;
constexpr int kProductBits = 2 * kMantissaBits;
// Terms of dot_scaled_f32 are products of four significands.
constexpr int kScaledBits = 4 * kMantissaBits;
constexpr std::size_t kScaledGroup = 16;

// A product's exponent tells what it is: at least kSpecial if a NaN or an infinity takes part, below every
// other if a zero does, so that nothing is aligned to it.
constexpr std::int16_t kZero = -0x400;
constexpr std::int16_t kInfinity = 0x1000;
constexpr std::int16_t kNan = 0x2000;
constexpr int kSpecial = 0x800;

// The window of kept bits goes no lower than this, however small all terms are.
int least_alignment(const FloatFormat& accumulator, int fraction_bits) {
  return accumulator.min_exponent() + 18 - fraction_bits;
}

struct Accumulator {
  const FloatFormat& addend;
  FloatFormat result;
  Rounding rounding;
};

MmaElement to_element(const FloatFormat& format, std::uint64_t bits) {
  const Number number = unpack(format, bits);
  const int sign = number.negative ? -1 : 1;
  switch (number.kind) {
    case Kind::nan:
      return {0, kNan};
    case Kind::infinite:
      return {static_cast<std::int16_t>(sign), kInfinity};
    case Kind::zero:
      return {0, kZero};
    case Kind::finite:
      break;
  }
  const int significand = static_cast<int>(number.significand) << (kMantissaBits - format.mantissa_bits);
  return {static_cast<std::int16_t>(sign * significand),
          static_cast<std::int16_t>(number.exponent + format.mantissa_bits)};
}

// value * 2^left / 2^right, toward zero.
std::int64_t scale(std::int64_t value, int left, int right) {
  const std::int64_t below_one = (std::int64_t{1} << std::min(right, 62)) - 1;
  return ((value << left) + (value < 0 ? below_one : 0)) >> std::min(right, 62);
}

// The sum where infinities or NaN take part. Products of finite numbers add nothing to it.
std::uint64_t special_sum(std::span<const MmaElement> a, std::span<const MmaElement> b, const Number& addend,
                          const FloatFormat& format) {
  bool infinite[2] = {false, false};
  bool nan = addend.is_nan();
  if (addend.kind == Kind::infinite) infinite[addend.negative] = true;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].exponent + b[k].exponent < kSpecial) continue;
    const int sign = a[k].significand * b[k].significand;  // 0 for infinity times zero and for NaN
    nan = nan || sign == 0;
    infinite[sign < 0] = true;
  }
  return nan || (infinite[0] && infinite[1]) ? format.nan : format.infinity() | format.sign(infinite[1]);
}

// The sum where every number is finite. `largest` is the largest exponent; the unit is 2^(largest -
// fraction_bits).
std::int64_t align(const Number& addend, int largest, int addend_exponent, int fraction_bits) {
  const int addend_bits = addend_exponent - addend.exponent;
  const auto magnitude = static_cast<std::int64_t>(addend.significand);
  return scale(addend.negative ? -magnitude : magnitude, std::max(fraction_bits - addend_bits, 0),
               largest - addend_exponent + std::max(addend_bits - fraction_bits, 0));
}

std::int64_t aligned_sum(std::span<const MmaElement> a, std::span<const MmaElement> b, const Number& addend,
                         int largest, int addend_exponent, int fraction_bits) {
  std::int64_t sum = align(addend, largest, addend_exponent, fraction_bits);
  const int left = std::max(fraction_bits - kProductBits, 0);
  const int right = largest + std::max(kProductBits - fraction_bits, 0);
  for (std::size_t k = 0; k < a.size(); ++k) {
    sum += scale(a[k].significand * b[k].significand, left, right - (a[k].exponent + b[k].exponent));
  }
  return sum;
}

// sum * 2^exponent. Too large a sum is infinite even where rounding is toward zero.
std::uint64_t rounded(std::int64_t sum, int exponent, const Accumulator& accumulator) {
  const FloatFormat& format = accumulator.result;
  Number result = from_integer(sum < 0, static_cast<std::uint64_t>(std::abs(sum)));
  result.exponent = exponent;
  const bool overflow = sum != 0 && leading_exponent(result) > format.bias;
  return overflow ? format.infinity() | format.sign(sum < 0)
                  : round(format, result, accumulator.rounding, Saturation::none);
}

std::uint64_t sum_chunk(std::span<const MmaElement> a, std::span<const MmaElement> b, std::uint64_t c,
                        int fraction_bits, const Accumulator& accumulator) {
  const FloatFormat& format = accumulator.result;
  Number addend = unpack(accumulator.addend, c);
  if (addend.kind == Kind::zero) addend.exponent = kZero;
  const int addend_exponent = addend.exponent + accumulator.addend.mantissa_bits;
  int largest = std::max(addend_exponent, least_alignment(accumulator.addend, fraction_bits));
  for (std::size_t k = 0; k < a.size(); ++k) largest = std::max(largest, a[k].exponent + b[k].exponent);
  if (largest >= kSpecial || addend.is_nan() || addend.kind == Kind::infinite) {
    return special_sum(a, b, addend, format);
  }
  return rounded(aligned_sum(a, b, addend, largest, addend_exponent, fraction_bits), largest - fraction_bits,
                 accumulator);
}

std::uint32_t sum_all(std::span<const MmaElement> a, std::span<const MmaElement> b, std::uint32_t c,
                      MmaRule rule, const Accumulator& accumulator) {
  const std::size_t chunk = rule.chunk_k > 0 ? static_cast<std::size_t>(rule.chunk_k) : a.size();
  std::uint64_t sum = rule.addend_last ? 0 : c;
  for (std::size_t k = 0; k < a.size(); k += chunk) {
    const std::size_t size = std::min(chunk, a.size() - k);
    sum = sum_chunk(a.subspan(k, size), b.subspan(k, size), sum, rule.fraction_bits, accumulator);
  }
  if (rule.addend_last) sum = add(accumulator.result, c, sum);
  return static_cast<std::uint32_t>(sum);
}

// The exact sum of a group of dot_scaled_f32, in units of 2^-kProductBits.
std::int64_t exact_sum(std::span<const MmaElement> a, std::span<const MmaElement> b) {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].significand == 0 || b[k].significand == 0) continue;
    sum += std::int64_t{a[k].significand} * b[k].significand << (a[k].exponent + b[k].exponent);
  }
  return sum;
}

[[noreturn]] void refuse(Type type, const char* hint) {
  throw Error(ErrorKind::usage, "mma-type", "no mma sums elements of type " + std::string(type.name), hint);
}

}  // namespace

void unpack_mma(Type type, std::span<const std::uint32_t> bits, std::span<MmaElement> elements) {
  const FloatFormat* const format = find_format(type);
  if (format == nullptr || !format->has_sign || format->mantissa_bits > kMantissaBits) {
    refuse(type, "give f16, bf16, tf32, e4m3, e5m2, e3m2, e2m3 or e2m1");
  }
  std::ranges::transform(bits, elements.begin(),
                         [&](std::uint32_t element) { return to_element(*format, element); });
}

void unpack_mma(Type type, std::span<const std::uint32_t> bits, std::span<std::int32_t> elements) {
  if (type.is_float() || type.bits > 8) refuse(type, "give s8, u8, s4, u4 or b1");
  const int unused = 32 - type.bits;
  std::ranges::transform(bits, elements.begin(), [&](std::uint32_t element) {
    const std::uint32_t top = element << unused;
    return type.is_signed() ? static_cast<std::int32_t>(top) >> unused
                            : static_cast<std::int32_t>(top >> unused);
  });
}

std::uint32_t dot_f32(std::span<const MmaElement> a, std::span<const MmaElement> b, std::uint32_t c,
                      MmaRule rule) {
  Accumulator accumulator{.addend = kF32, .result = kF32, .rounding = Rounding::rz};
  accumulator.result.mantissa_bits = rule.result_mantissa_bits;
  accumulator.result.padding = kF32.mantissa_bits - rule.result_mantissa_bits;
  return sum_all(a, b, c, rule, accumulator);
}

std::uint32_t dot_f16(std::span<const MmaElement> a, std::span<const MmaElement> b, std::uint32_t c,
                      MmaRule rule) {
  return sum_all(a, b, c, rule, {.addend = kF16, .result = kF16, .rounding = Rounding::rn});
}

MmaElement unpack_mma_scale(Type type, std::uint32_t bits) {
  const FloatFormat* const format = find_format(type);
  if (format == nullptr || format->has_sign) refuse(type, "give ue8m0 or ue4m3 for a scale");
  return to_element(*format, bits);
}

void scale_mma(MmaElement power, std::span<MmaElement> block) {
  for (MmaElement& element : block) {
    if (power.exponent == kNan) {
      element = power;
    } else if (element.exponent != kZero && element.exponent < kSpecial) {
      element.exponent = static_cast<std::int16_t>(element.exponent + power.exponent);
    }
  }
}

std::uint32_t dot_scaled_f32(std::span<const MmaElement> a, std::span<const MmaElement> b,
                             std::span<const MmaElement> scales_a, std::span<const MmaElement> scales_b,
                             std::uint32_t c, MmaRule rule) {
  const Accumulator accumulator{.addend = kF32, .result = kF32, .rounding = Rounding::rz};
  Number addend = unpack(kF32, c);
  const auto is_nan = [](MmaElement scale) { return scale.exponent == kNan; };
  if (addend.is_nan() || std::ranges::any_of(scales_a, is_nan) || std::ranges::any_of(scales_b, is_nan)) {
    return static_cast<std::uint32_t>(kF32.nan);
  }
  if (addend.kind == Kind::infinite) return c;
  if (addend.kind == Kind::zero) addend.exponent = kZero;
  const int addend_exponent = addend.exponent + kF32.mantissa_bits;
  int largest = std::max(addend_exponent, least_alignment(kF32, rule.fraction_bits));
  for (std::size_t i = 0; i < scales_a.size(); ++i) {
    largest = std::max(largest, scales_a[i].exponent + scales_b[i].exponent);
  }
  std::int64_t sum = align(addend, largest, addend_exponent, rule.fraction_bits);
  for (std::size_t k = 0; k < a.size(); k += kScaledGroup) {
    const MmaElement &by_a = scales_a[k * scales_a.size() / a.size()],
                     &by_b = scales_b[k * scales_b.size() / b.size()];
    const std::int64_t group = exact_sum(a.subspan(k, kScaledGroup), b.subspan(k, kScaledGroup));
    sum += scale(group * by_a.significand * by_b.significand, 0,
                 largest - (by_a.exponent + by_b.exponent) + kScaledBits - rule.fraction_bits);
  }
  return static_cast<std::uint32_t>(rounded(sum, largest - rule.fraction_bits, accumulator));
}

std::uint64_t dot_f64(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c,
                      Rounding rounding) {
  for (std::size_t k = 0; k < a.size(); ++k) c = fma(kF64, a[k], b[k], c, {.rounding = rounding});
  return c;
}

std::uint32_t dot_s32(std::span<const std::int32_t> a, std::span<const std::int32_t> b, std::uint32_t c,
                      bool satfinite) {
  std::int64_t sum = static_cast<std::int32_t>(c);
  for (std::size_t k = 0; k < a.size(); ++k) sum += std::int64_t{a[k]} * b[k];
  using Limits = std::numeric_limits<std::int32_t>;
  if (satfinite) sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
  return static_cast<std::uint32_t>(sum);
}

}  // namespace ptxloom::base
