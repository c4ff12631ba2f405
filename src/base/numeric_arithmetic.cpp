// SPDX-License-Identifier: Apache-2.0
#include "base/numeric_arithmetic.hpp"

#include <algorithm>
#include <array>

namespace ptxloom::base {
namespace {

// The operands of one operation, as bits and as numbers.
template <std::size_t N>
class Operands {
 public:
  Operands(const FloatFormat& format, std::array<std::uint64_t, N> bits, Modifiers modifiers)
      : format_(format), bits_(bits), modifiers_(modifiers) {
    for (std::size_t i = 0; i < N; ++i) {
      numbers_[i] = unpack(format, modifiers.ftz ? flush_subnormal(format, bits[i]) : bits[i]);
    }
  }

  const Number& operator[](std::size_t i) const { return numbers_[i]; }

  std::uint64_t finish(const Number& result) const {
    if (result.is_nan() && format_.is_f64()) {
      for (std::size_t i = 1; i <= N; ++i) {
        if (numbers_[i % N].is_nan()) return format_.quiet(bits_[i % N]);
      }
    }
    return base::finish(format_, result, modifiers_);
  }

 private:
  const FloatFormat& format_;
  std::array<std::uint64_t, N> bits_;
  std::array<Number, N> numbers_;
  Modifiers modifiers_;
};

// Whether .ftz treats a result as subnormal: if it is below the smallest normal number when rounded with an
// unbounded exponent. So a value that rounds up to that number may still be flushed.
bool is_tiny(const FloatFormat& format, const Number& result, Rounding rounding) {
  if (result.kind != Number::Kind::finite) return false;
  const int exponent = leading_exponent(result);
  if (exponent != format.min_exponent() - 1) return exponent < format.min_exponent();
  const uint128 kept = shift_right(result.significand, exponent - format.mantissa_bits - result.exponent,
                                   result.negative, rounding);
  return kept >> (format.mantissa_bits + 1) == 0;
}

}  // namespace

std::uint64_t flush_subnormal(const FloatFormat& format, std::uint64_t bits) {
  return (bits & format.infinity()) == 0 ? bits & format.sign(true) : bits;
}

std::uint64_t finish(const FloatFormat& format, const Number& result, Modifiers modifiers) {
  const bool saturate = modifiers.saturation == Saturation::sat;
  if (result.is_nan() && saturate) return 0;
  if (result.negative && !result.is_nan() && (saturate || modifiers.relu)) return 0;
  if (modifiers.ftz && is_tiny(format, result, modifiers.rounding)) return format.sign(result.negative);
  const std::uint64_t bits = round(format, result, modifiers.rounding, modifiers.saturation);
  if (modifiers.pzo && bits == format.sign(true)) return 0;
  return saturate ? std::min(bits, format.one()) : bits;
}

std::uint64_t add(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Modifiers modifiers) {
  const Operands<2> operands(format, {a, b}, modifiers);
  return operands.finish(add(operands[0], operands[1], modifiers.rounding));
}

std::uint64_t sub(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Modifiers modifiers) {
  const Operands<2> operands(format, {a, b}, modifiers);
  Number subtrahend = operands[1];
  subtrahend.negative = !subtrahend.negative;
  return operands.finish(add(operands[0], subtrahend, modifiers.rounding));
}

std::uint64_t mul(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Modifiers modifiers) {
  const Operands<2> operands(format, {a, b}, modifiers);
  return operands.finish(multiply(operands[0], operands[1]));
}

std::uint64_t fma(const FloatFormat& format, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                  Modifiers modifiers) {
  const Operands<3> operands(format, {a, b, c}, modifiers);
  return operands.finish(add(multiply(operands[0], operands[1]), operands[2], modifiers.rounding));
}

std::uint64_t div(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Modifiers modifiers) {
  const Operands<2> operands(format, {b, a}, modifiers);  // a NaN dividend takes precedence over a NaN
                                                          // divisor
  return operands.finish(divide(operands[1], operands[0]));
}

std::uint64_t sqrt(const FloatFormat& format, std::uint64_t a, Modifiers modifiers) {
  const Operands<1> operands(format, {a}, modifiers);
  return operands.finish(square_root(operands[0]));
}

}  // namespace ptxloom::base
