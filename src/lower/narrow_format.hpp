// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/numeric_format.hpp"

// Formats of the elements of a packed type, and their numbers.
namespace ptxloom::lower {

/// That of e4m3x2, or of e4m3x4.
inline const base::FloatFormat& format_of(std::string_view packed) {
  packed.remove_suffix(2);
  return *base::find_format(*find_type(packed));
}

/// The value of a code of a normal number, also of one that stands for NaN: as if it were a number.
inline float value_of(const base::FloatFormat& format, std::uint64_t code) {
  const auto field = static_cast<int>(code >> format.mantissa_bits);
  const auto mantissa = code & ((1U << format.mantissa_bits) - 1);
  const double fraction = 1 + std::ldexp(static_cast<double>(mantissa), -format.mantissa_bits);
  return static_cast<float>(std::ldexp(fraction, field - format.bias));
}

}  // namespace ptxloom::lower
