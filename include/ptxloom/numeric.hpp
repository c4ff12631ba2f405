// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ptxloom/type.hpp"

// The value of every element type, exactly. A value travels as its bit pattern in the low bits of an integer
// (tf32 as PTX has it: an f32 whose low 13 bits are ignored), a matrix as a buffer of elements packed without
// gaps, lowest bit first: two e2m1 to a byte, four e2m3 to three bytes. Conversions round once and do what
// PTX's cvt does. All arithmetic is on integers, so every machine and floating-point mode gives the same
// bits.
//
// Errors: Error(usage, "type-has-no-value") for packed types (f16x2) and b128, Error(usage,
// "buffer-too-small") for elements outside their buffer.
namespace [[gnu::visibility("default")]] ptxloom {

/// To the nearest (ties to even), toward zero, down, up, to the nearest (ties away from zero).
enum class Rounding : std::uint8_t { rn, rz, rm, rp, rna };

/// What becomes of a value out of range.
enum class Saturation : std::uint8_t {
  none,  ///< floats become infinity (NaN in e4m3 and ue8m0, the largest value in fp6 and fp4); integers wrap
  sat,   ///< floats are clamped to [0, 1], NaN to 0; integers to their range
  satfinite,  ///< floats are clamped to the largest finite value
};

/// The modifiers of a PTX instruction that say how its result is rounded.
struct Modifiers {
  Rounding rounding = Rounding::rn;
  Saturation saturation = Saturation::none;
  bool ftz = false;   ///< subnormal f32 inputs and results become zeros of their sign
  bool relu = false;  ///< negative results become zero
};

/// The value of one element; bits and predicates count as unsigned. Exact, but for 64-bit integers, which are
/// rounded to the nearest double.
double decode(Type type, std::uint64_t bits);

/// The element nearest to `value` in the direction of `rounding`. Integers are clamped to their range, and
/// NaN becomes what cvt.f64 gives. Scale factors have no sign: ue8m0 takes the magnitude, ue4m3 turns
/// negatives to 0.
std::uint64_t encode(Type type, double value, Rounding rounding = Rounding::rn,
                     Saturation saturation = Saturation::none);

/// cvt.to.from. A float becomes an integer through .rni .rzi .rmi .rpi, that is `rounding`, and is always
/// clamped.
std::uint64_t convert(Type to, Type from, std::uint64_t bits, Modifiers modifiers = {});

/// cvt.rni.f32.f32 and its kind: a float rounded to an integral value of its own type.
std::uint64_t round_to_integral(Type type, std::uint64_t bits, Modifiers modifiers = {});

/// Bytes of a buffer of `count` elements.
std::size_t packed_bytes(Type type, std::size_t count);

/// Element `index` of a packed buffer, and its replacement by the low bits of `bits`.
std::uint64_t load_element(Type type, std::span<const std::byte> packed, std::size_t index);
void store_element(Type type, std::span<std::byte> packed, std::size_t index, std::uint64_t bits);

/// The first values.size() elements of a buffer, decoded or encoded.
void decode(Type type, std::span<const std::byte> packed, std::span<double> values);
void encode(Type type, std::span<const double> values, std::span<std::byte> packed,
            Rounding rounding = Rounding::rn, Saturation saturation = Saturation::none);

}  // namespace ptxloom
