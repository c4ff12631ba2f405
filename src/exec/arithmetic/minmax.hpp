// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/numeric_arithmetic.hpp"

// Minimum and maximum of floats as bit patterns (PTX ISA 9.7.3.11): -0 is below +0, and of a number and a NaN
// the result is the number unless NaN propagates. A resulting NaN is the format's canonical one; for f64 it
// is the second operand's, made quiet, as on an H200.
namespace ptxloom::exec {

struct MinMax {
  const base::FloatFormat* format = nullptr;
  bool is_min = false;
  bool propagate_nan = false;  ///< .NaN
  bool abs = false;            ///< compares magnitudes
  bool xorsign = false;        ///< .xorsign.abs: compares magnitudes; the result gets the product of the
                               ///< signs
  bool ftz = false;

  std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const {
    const std::uint64_t sign = format->sign(true), result_sign = (a ^ b) & sign;
    a = prepared(a);
    b = prepared(b);
    const bool a_nan = is_nan(a), b_nan = is_nan(b);
    if (a_nan && b_nan && format->is_f64()) return format->quiet(b);
    if ((a_nan && b_nan) || ((a_nan || b_nan) && propagate_nan)) return format->nan;
    const std::uint64_t less = rank(a) < rank(b) ? a : b, more = less == a ? b : a;
    std::uint64_t result = is_min ? less : more;
    if (a_nan) result = b;
    if (b_nan) result = a;
    return xorsign ? result | result_sign : result;
  }

 private:
  std::uint64_t prepared(std::uint64_t value) const {
    if (ftz) value = base::flush_subnormal(*format, value);
    return abs || xorsign ? value & ~format->sign(true) : value;
  }
  bool is_nan(std::uint64_t value) const { return (value & ~format->sign(true)) > format->infinity(); }
  // Orders patterns like their values.
  std::int64_t rank(std::uint64_t value) const {
    const std::uint64_t magnitude = value & ~format->sign(true);
    return magnitude == value ? static_cast<std::int64_t>(magnitude)
                              : -static_cast<std::int64_t>(magnitude) - 1;
  }
};

}  // namespace ptxloom::exec
