// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ptxloom/type.hpp"

// A second implementation of the element types, for the tests: what a test expects of f16, bf16, tf32, fp8,
// fp6, fp4 and the scale types is not computed by the code under test. A format is a table row: whether it
// has a sign, the bits of its exponent and mantissa, its bias, and the meaning of its topmost patterns (OCP
// 8-bit Floating Point 1.0, OCP Microscaling Formats 1.0, IEEE 754, PTX ISA "Alternate Floating-Point Data
// Formats"). Decoding follows that definition. Encoding uses decoding: the patterns of positive numbers are
// ordered like their values, so bisection finds the nearest one.
namespace ptxloom::test::narrow {

/// The value of the low bits of `bits`; integers and bits too. Exact up to 53 bits.
double decode(Type type, std::uint64_t bits);

enum class Overflow : std::uint8_t {
  natural,  ///< infinity; NaN in e4m3, ue4m3 and ue8m0; the largest number in fp6 and fp4
  finite,   ///< the largest number
};

/// The nearest element; of two, the one with the even pattern. Integers are clamped. NaN is that of PTX's
/// cvt, or the largest number if there is none. Scale types take no negative values.
std::uint64_t encode(Type type, double value, Overflow overflow = Overflow::natural);

/// Element `index` of a packed buffer, lowest bit first.
std::uint64_t load(Type type, std::span<const std::byte> packed, std::size_t index);
void store(Type type, std::span<std::byte> packed, std::size_t index, std::uint64_t bits);
/// The values of all whole elements of a buffer.
std::vector<double> values(Type type, std::span<const std::byte> packed);

}  // namespace ptxloom::test::narrow
