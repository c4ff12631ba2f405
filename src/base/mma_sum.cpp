// SPDX-License-Identifier: Apache-2.0
#include "base/mma_sum.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "base/numeric_arithmetic.hpp"
#include "base/widest.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::base {
namespace {

constexpr int kMostMantissaBits = 10;  // of an element
constexpr int kDoubleBits = 52;        // of a double's mantissa
constexpr int kDoubleBias = 1023;

// The exponent of terms that do not take part in the alignment: below that of any product.
constexpr std::int32_t kNoExponent = -0x400;

struct Accumulator {
  FloatFormat addend;
  FloatFormat result;
  Rounding rounding;
  std::int32_t least;  ///< minimum exponent that terms are aligned to
};

struct Element {
  double value;
  std::int32_t exponent;
};

double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kDoubleBias) << kDoubleBits);
}

// Branch-free, so that it vectorises.
inline Element unpack_element(const FloatFormat& format, std::uint32_t bits) {
  const auto most = static_cast<std::uint32_t>(format.max_finite() >> format.padding);
  const std::uint32_t infinity = format.specials == Specials::ieee ? most + 1 : ~0u;
  const std::uint32_t implicit = 1u << format.mantissa_bits, first_normal = format.has_zero ? 1 : 0;
  const std::uint32_t magnitude = bits >> format.padding & ((1u << format.sign_bit()) - 1);
  const std::uint32_t field = magnitude >> format.mantissa_bits;
  const auto significand =
      static_cast<std::int32_t>((magnitude & (implicit - 1)) + (field >= first_normal ? implicit : 0));
  const int exponent = std::max(static_cast<int>(field) - format.bias, format.min_exponent());
  const double number = significand * power_of_two(exponent - format.mantissa_bits);
  const double special = magnitude == infinity ? std::numeric_limits<double>::infinity()
                                               : std::numeric_limits<double>::quiet_NaN();
  const double value = magnitude > most ? special : number;
  const int aligned = magnitude > most ? kNoExponent : exponent;
  const std::uint32_t negative = bits >> (format.sign_bit() + format.padding) & (format.has_sign ? 1 : 0);
  return {std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) | std::uint64_t{negative} << 63),
          significand == 0 ? kNoExponent : aligned};
}

// The same for f32.
inline Element unpack_f32(std::uint32_t bits) {
  const auto field = static_cast<std::int32_t>(bits >> kF32.mantissa_bits & 0xff);
  const bool aligned = bits << 1 != 0 && field != 0xff;
  return {std::bit_cast<float>(bits), aligned ? std::max(field, 1) - kF32.bias : kNoExponent};
}

// Rounds to a format, towards zero or to nearest even. A value that is too large becomes infinite even when
// rounding towards zero, and a zero has no sign even if it was rounded from below.
inline std::uint32_t rounded(const FloatFormat& format, double value, Rounding rounding) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::int64_t exponent = static_cast<std::int64_t>(bits >> kDoubleBits & 0x7ff) - kDoubleBias;
  const std::int64_t above = exponent - format.min_exponent();  // negative for subnormals and zero
  constexpr std::uint64_t implicit = std::uint64_t{1} << kDoubleBits;
  const std::uint64_t significand = (bits & (implicit - 1)) | implicit;
  const std::int64_t dropped =
      std::min<std::int64_t>(kDoubleBits - format.mantissa_bits - std::min<std::int64_t>(above, 0), 63);
  const std::uint64_t half = (std::uint64_t{1} << (dropped - 1)) - 1 + (significand >> dropped & 1);
  const std::uint64_t kept = (significand + (rounding == Rounding::rn ? half : 0)) >> dropped;
  const std::uint64_t field = static_cast<std::uint64_t>(std::max<std::int64_t>(above, 0))
                              << format.mantissa_bits;
  const std::uint64_t magnitude = std::min(kept + field, format.infinity() >> format.padding)
                                  << format.padding;
  const std::uint64_t sign = bits >> 63 << (format.sign_bit() + format.padding);
  const std::uint64_t number = magnitude == 0 ? 0 : magnitude | sign;
  return static_cast<std::uint32_t>(value != value ? format.nan : number);
}

/// Columns of B, starting at these, in rows `stride` apart.
struct Columns {
  const double* values;
  const std::int32_t* exponents;
  const float* singles;
  std::size_t stride;
};

// Calls f for columns 0 to width. The loop should vectorise, which g++ does not do if it unrolls it first.
template <std::size_t width, class F>
inline void for_columns(F f) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC unroll 1
#endif
  for (std::size_t j = 0; j < width; ++j) f(j);
}

// Rounds to the accumulator type. Nearly all results are normal numbers of f32, or zero: what is cut off from
// those in double is not there when they are converted.
template <std::size_t width>
inline void round_all(const std::array<double, width>& values, std::uint32_t* sums,
                      const Accumulator& accumulator) {
  std::uint64_t others = accumulator.rounding == Rounding::rz ? 0 : 1;
  const std::uint64_t kept = ~std::uint64_t{0} << (kDoubleBits - accumulator.result.mantissa_bits);
  for_columns<width>([&](std::size_t j) {
    const bool fine = std::abs(values[j]) >= std::numeric_limits<float>::min() || values[j] == 0;
    others |= fine ? 0 : 1;
    const double unsigned_zero = values[j] + 0.0;
    const auto number = std::bit_cast<double>(std::bit_cast<std::uint64_t>(unsigned_zero) & kept);
    sums[j] = std::bit_cast<std::uint32_t>(static_cast<float>(number));
  });
  if (others == 0) return;
  for_columns<width>(
      [&](std::size_t j) { sums[j] = rounded(accumulator.result, values[j], accumulator.rounding); });
}

// Adds the products, in units of 2^(largest - fraction_bits), each truncated.
template <std::size_t width>
inline void add_doubles(std::span<const MmaFactor> row, const Columns& b,
                        const std::array<double, width>& unit, std::array<double, width>& sum) {
  for (const MmaFactor& a : row) {
    const double* values = b.values + a.row * b.stride;
    for_columns<width>([&](std::size_t j) { sum[j] += std::trunc(a.value * values[j] * unit[j]); });
  }
}

// The same with products that are exact in single precision, and a sum that 32 bits hold. The unit of
// products that are all zero may be too small for it: any other will do.
template <std::size_t width>
inline void add_singles(std::span<const MmaFactor> row, const Columns& b,
                        const std::array<std::int32_t, width>& unit_exponents,
                        std::array<double, width>& sum) {
  std::array<float, width> unit;
  std::array<std::int32_t, width> products;
  for_columns<width>([&](std::size_t j) {
    unit[j] = std::bit_cast<float>(
        static_cast<std::uint32_t>(std::min(unit_exponents[j], kF32.bias) + kF32.bias) << kF32.mantissa_bits);
    products[j] = 0;
  });
  for (const MmaFactor& a : row) {
    const auto value = static_cast<float>(a.value);
    const float* values = b.singles + a.row * b.stride;
    for_columns<width>(
        [&](std::size_t j) { products[j] += static_cast<std::int32_t>(value * values[j] * unit[j]); });
  }
  for_columns<width>([&](std::size_t j) { sum[j] += products[j]; });
}

// The sums of `width` columns, rounded to the accumulator type. The unit is 2^(largest - fraction_bits).
template <std::size_t width, bool is_f32>
inline void sum_columns(std::span<const MmaFactor> row, const Columns& b, std::uint32_t* sums,
                        const Accumulator& accumulator, int fraction_bits) {
  std::array<double, width> addends, sum, unit;
  std::array<std::int32_t, width> largest, unit_exponents;
  for_columns<width>([&](std::size_t j) {
    const Element addend = is_f32 ? unpack_f32(sums[j]) : unpack_element(accumulator.addend, sums[j]);
    addends[j] = addend.value;
    largest[j] = std::max(addend.exponent, accumulator.least);
  });
  for (const MmaFactor& a : row) {
    const std::int32_t* exponents = b.exponents + a.row * b.stride;
    for_columns<width>([&](std::size_t j) { largest[j] = std::max(largest[j], a.exponent + exponents[j]); });
  }
  for_columns<width>([&](std::size_t j) {
    unit_exponents[j] = fraction_bits - largest[j];
    unit[j] = power_of_two(unit_exponents[j]);
    sum[j] = std::trunc(addends[j] * unit[j]);
  });
  if (b.singles != nullptr) {
    add_singles<width>(row, b, unit_exponents, sum);
  } else {
    add_doubles<width>(row, b, unit, sum);
  }
  for_columns<width>([&](std::size_t j) { sum[j] *= power_of_two(-unit_exponents[j]); });
  round_all<width>(sum, sums, accumulator);
}

template <bool is_f32>
void sum_row(std::span<const MmaFactor> row, const MmaElements& b, std::span<std::uint32_t> sums,
             const Accumulator& shared, int fraction_bits) {
  const Accumulator accumulator = shared;  // a local copy, which stores to `sums` cannot alias
  // A product is less than 2^(fraction_bits + 2) units, so 32 bits hold the sum of 2^(29 - fraction_bits) of
  // them.
  const bool singles =
      !b.singles.empty() && fraction_bits <= 29 && row.size() <= std::size_t{1} << (29 - fraction_bits);
  std::size_t j = 0;
  const auto sum = [&]<std::size_t width>() {
    for (; j + width <= sums.size(); j += width) {
      const Columns columns{b.values.data() + j, b.exponents.data() + j,
                            singles ? b.singles.data() + j : nullptr, sums.size()};
      sum_columns<width, is_f32>(row, columns, sums.data() + j, accumulator, fraction_bits);
    }
  };
  sum.template operator()<32>();
  sum.template operator()<8>();
  sum.template operator()<1>();
}

// Adds like a separate instruction would. A sum of two f16 is exact in double.
std::uint32_t add_last(std::uint32_t addend, std::uint32_t sum, const Accumulator& accumulator) {
  const double a = unpack_element(accumulator.addend, addend).value,
               b = unpack_element(accumulator.addend, sum).value;
  if (accumulator.addend.mantissa_bits == kF16.mantissa_bits) return rounded(kF16, a + b, Rounding::rn);
  const float wide = static_cast<float>(a) + static_cast<float>(b);
  return wide != wide ? static_cast<std::uint32_t>(kF32.nan) : std::bit_cast<std::uint32_t>(wide);
}

void sum_all(std::span<const MmaFactor> row, const MmaElements& b, std::span<std::uint32_t> sums,
             MmaRule rule, const Accumulator& accumulator) {
  const std::size_t chunk = rule.chunk_k > 0 ? static_cast<std::size_t>(rule.chunk_k) : row.size();
  const std::vector<std::uint32_t> addends(sums.begin(), rule.addend_last ? sums.end() : sums.begin());
  if (rule.addend_last) std::ranges::fill(sums, 0);
  static const auto sum_f32 = widest<&sum_row<true>>(), sum_others = widest<&sum_row<false>>();
  const auto sum = accumulator.addend.mantissa_bits == kF32.mantissa_bits ? sum_f32 : sum_others;
  for (std::size_t k = 0; k < row.size(); k += chunk)
    sum(row.subspan(k, std::min(chunk, row.size() - k)), b, sums, accumulator, rule.fraction_bits);
  for (std::size_t j = 0; j < addends.size(); ++j) sums[j] = add_last(addends[j], sums[j], accumulator);
}

void unpack_all(const FloatFormat& shared, std::span<const std::uint32_t> bits, MmaElements& elements) {
  const FloatFormat format = shared;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const Element element = unpack_element(format, bits[i]);
    elements.values[i] = element.value;
    elements.exponents[i] = element.exponent;
  }
}

// Whether these are finite, with exponents of at most `most` to either side of 0, or zero.
bool lie_between(std::span<const double> values, std::span<const std::int32_t> exponents, std::int32_t most) {
  bool all = true;
  for (std::size_t i = 0; i < values.size(); ++i) all &= std::abs(exponents[i]) <= most || values[i] == 0;
  return all;
}

using Multiply = std::multiplies<std::int32_t>;
using Differ = std::bit_xor<std::int32_t>;

// Elements have 8 bits and rows at most 512 of them, so no sum overflows.
template <class Operation>
void add_products(std::span<const MmaIntegerFactor> row, std::span<const std::int32_t> b,
                  std::span<std::int32_t> sums) {
  for (const MmaIntegerFactor& a : row) {
    const std::int32_t* line = b.data() + a.row * sums.size();
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += Operation{}(a.value, line[j]);
  }
}

[[noreturn]] void refuse(Type type, const char* hint) {
  throw Error(ErrorKind::usage, "mma-type",
              "an mma cannot accumulate elements of type " + std::string(type.name), hint);
}

MmaElements unpacked(const FloatFormat& format, std::span<const std::uint32_t> bits) {
  MmaElements elements(bits.size());
  static const auto unpack = widest<&unpack_all>();
  unpack(format, bits, elements);
  return elements;
}

}  // namespace

MmaElements unpack_mma(Type type, std::span<const std::uint32_t> bits) {
  const FloatFormat* const format = find_format(type);
  if (format == nullptr || !format->has_sign || format->mantissa_bits > kMostMantissaBits)
    refuse(type, "use f16, bf16, tf32, e4m3, e5m2, e3m2, e2m3 or e2m1");
  return unpacked(*format, bits);
}

MmaElements unpack_mma_as_f16(Type type, std::span<const std::uint32_t> bits) {
  MmaElements elements = unpack_mma(type, bits);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (elements.exponents[i] == kNoExponent) continue;
    elements.exponents[i] = std::max(std::ilogb(elements.values[i]), kF16.min_exponent());
  }
  return elements;
}

MmaElements unpack_mma_scales(Type type, std::span<const std::uint32_t> bits) {
  const FloatFormat* const format = find_format(type);
  if (format == nullptr || format->has_sign) refuse(type, "use ue8m0 or ue4m3 for a scale");
  return unpacked(*format, bits);
}

void scale_mma(MmaElements& elements, std::size_t i, const MmaElements& scales, std::size_t j) {
  elements.values[i] *= scales.values[j];
  if (elements.exponents[i] == kNoExponent) return;
  const bool nan = scales.exponents[j] == kNoExponent;
  elements.exponents[i] = nan ? kNoExponent : elements.exponents[i] + scales.exponents[j];
}

void narrow(const MmaElements& a, MmaElements& b) {
  // Then products and units of up to 29 bits below them are normal numbers of single precision.
  constexpr std::int32_t kMost = 48;
  static const auto fits = widest<&lie_between>();
  if (!fits(a.values, a.exponents, kMost) || !fits(b.values, b.exponents, kMost)) return;
  b.singles.assign(b.values.begin(), b.values.end());
}

void dot_f32(std::span<const MmaFactor> row, const MmaElements& b, std::span<std::uint32_t> sums,
             MmaRule rule) {
  Accumulator accumulator{.addend = kF32, .result = kF32, .rounding = Rounding::rz, .least = rule.least_f32};
  accumulator.result.mantissa_bits = rule.result_mantissa_bits;
  accumulator.result.padding = kF32.mantissa_bits - rule.result_mantissa_bits;
  sum_all(row, b, sums, rule, accumulator);
}

void dot_f16(std::span<const MmaFactor> row, const MmaElements& b, std::span<std::uint32_t> sums,
             MmaRule rule) {
  sum_all(row, b, sums, rule,
          {.addend = kF16, .result = kF16, .rounding = Rounding::rn, .least = rule.least_f16});
}

MmaElements sum_groups(std::span<const MmaFactor> row, const MmaElements& b, const MmaElements& scales,
                       std::size_t columns) {
  const std::size_t groups = row.size() / kMmaGroup, blocks = scales.values.size() / columns;
  MmaElements sums(groups * columns);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t to = g * columns, scale = g * blocks / groups * columns;
    for (std::size_t k = g * kMmaGroup; k < (g + 1) * kMmaGroup; ++k) {
      const std::size_t from = row[k].row * columns;
      for (std::size_t j = 0; j < columns; ++j) sums.values[to + j] += row[k].value * b.values[from + j];
    }
    for (std::size_t j = 0; j < columns; ++j) {
      sums.values[to + j] *= scales.values[scale + j];
      sums.exponents[to + j] = scales.exponents[scale + j];
    }
  }
  return sums;
}

std::uint64_t dot_f64(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c,
                      Rounding rounding) {
  for (std::size_t k = 0; k < a.size(); ++k) c = fma(kF64, a[k], b[k], c, {.rounding = rounding});
  return c;
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

void dot_s32(std::span<const MmaIntegerFactor> row, std::span<const std::int32_t> b,
             std::span<std::uint32_t> sums, MmaIntegerRule rule) {
  static const auto sum_products = widest<&add_products<Multiply>>(),
                    sum_differences = widest<&add_products<Differ>>();
  std::vector<std::int32_t> products(sums.size());
  (rule.exclusive ? sum_differences : sum_products)(row, b, products);
  for (std::size_t j = 0; j < sums.size(); ++j) {
    const std::int64_t sum = std::int64_t{static_cast<std::int32_t>(sums[j])} + products[j];
    constexpr std::int64_t least = std::numeric_limits<std::int32_t>::min(),
                           most = std::numeric_limits<std::int32_t>::max();
    sums[j] = static_cast<std::uint32_t>(rule.satfinite ? std::clamp(sum, least, most) : sum);
  }
}

}  // namespace ptxloom::base
