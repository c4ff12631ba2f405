// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ptxloom/type.hpp"

/// \file
/// The values of all element types, exactly. A value is a bit pattern in the low bits of an integer; tf32 is
/// an f32 whose low 13 bits are ignored, as in PTX. A matrix is a buffer of elements that are packed without
/// gaps, from the lowest bit on: two e2m1 in a byte, four e2m3 in three bytes. Conversions round once and do
/// what cvt of PTX does. All arithmetic is on integers, so that the bits are the same on every machine and in
/// every floating-point mode.
///
/// All functions throw Error(usage, "type-has-no-value") for packed types (f16x2) and b128, and Error(usage,
/// "buffer-too-small") for elements outside of their buffer.
namespace [[gnu::visibility("default")]] ptxloom {

/// The direction of rounding.
enum class Rounding : std::uint8_t {
  rn,   ///< to nearest, ties to even
  rz,   ///< toward zero
  rm,   ///< down
  rp,   ///< up
  rna,  ///< to nearest, ties away from zero
};

/// The result for a value that is out of range.
enum class Saturation : std::uint8_t {
  /// Floats become infinity, or NaN in e4m3 and ue8m0, or the largest value in fp6 and fp4. Integers wrap.
  none,
  sat,        ///< floats are clamped to [0, 1], NaN to 0; integers are clamped to their range
  satfinite,  ///< floats are clamped to the largest finite value
};

/// The modifiers of a PTX instruction that determine how its result is rounded.
struct Modifiers {
  Rounding rounding = Rounding::rn;          ///< `.rn` ...
  Saturation saturation = Saturation::none;  ///< `.sat` or `.satfinite`
  bool ftz = false;   ///< subnormal f32 inputs and results become zeros with their sign
  bool relu = false;  ///< negative results become zero
  bool pzo = false;   ///< a result that is zero has no minus sign
};

/// The value of one element. Bits and predicates count as unsigned. It is exact, except that a 64-bit integer
/// is rounded to the nearest double.
double decode(Type type, std::uint64_t bits);

/// The bits of `value`, rounded to the type. Integers are clamped to their range, and NaN becomes what cvt
/// from f64 gives. Scale factors have no sign: ue8m0 and ue5m3 take the magnitude, and in ue4m3 negative
/// values become 0.
std::uint64_t encode(Type type, double value, Rounding rounding = Rounding::rn,
                     Saturation saturation = Saturation::none);

/// The least magnitude that rounds to infinity in f16, bf16, f32 or e5m2: half a unit in the last place above
/// the largest number. Infinity for all other types.
double first_infinite(Type type);

/// What `cvt.to.from` gives. A float that becomes an integer is rounded as `rounding` says (.rni, .rzi, .rmi,
/// .rpi) and is always clamped.
std::uint64_t convert(Type to, Type from, std::uint64_t bits, Modifiers modifiers = {});

/// A float rounded to an integral value of its own type, as by cvt.rni.f32.f32.
std::uint64_t round_to_integral(Type type, std::uint64_t bits, Modifiers modifiers = {});

/// Size in bytes of a buffer of `count` elements.
std::size_t packed_bytes(Type type, std::size_t count);

/// Reads element `index` of a packed buffer, or replaces it with the low bits of `bits`.
///@{
std::uint64_t load_element(Type type, std::span<const std::byte> packed, std::size_t index);
void store_element(Type type, std::span<std::byte> packed, std::size_t index, std::uint64_t bits);
///@}

/// Decodes or encodes the first values.size() elements of a buffer.
///@{
void decode(Type type, std::span<const std::byte> packed, std::span<double> values);
void encode(Type type, std::span<const double> values, std::span<std::byte> packed,
            Rounding rounding = Rounding::rn, Saturation saturation = Saturation::none);
///@}

}  // namespace ptxloom
