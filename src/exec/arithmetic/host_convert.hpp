// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/machine/decoder.hpp"
#include "ptxloom/numeric.hpp"
#include "ptxloom/type.hpp"

// cvt of floats by the host's arithmetic, one file per part, in loops that compilers vectorise. The functions
// return false for types they do not support.
namespace ptxloom::exec {

/// Between integers, f16, bf16, f32 and f64, except integer to integer; `integral`: to an integral value.
bool emit_host_conversion(Decoder& decoder, const Type& to, const Type& from, bool integral,
                          const Modifiers& modifiers);
// The parts.
/// f16, bf16, f32 or f64 to an integer.
void emit_float_to_integer(Decoder& decoder, const Type& to, const Type& from, const Modifiers& modifiers);
/// Anything to f32 or f64; a float to an integral value of its own type.
bool emit_to_wide_float(Decoder& decoder, const Type& to, const Type& from, const Modifiers& modifiers);
void emit_to_integral(Decoder& decoder, const Type& type, const Modifiers& modifiers);
/// Anything to f16 or bf16.
bool emit_to_half(Decoder& decoder, const Type& to, const Type& from, const Modifiers& modifiers);
/// Anything except f64 to f16, or two f32 to a pair; there is no .ftz.
bool emit_to_f16(Decoder& decoder, const Type& from, int inputs, const Modifiers& modifiers);

/// How the elements of a packed type lie in registers.
struct PackedShape {
  int inputs = 1;    ///< registers with one element each, the first being the highest of the result; or:
  int elements = 1;  ///< elements of one packed register
};
/// The distance between the elements of a pair: 6-bit elements lie in bytes.
inline int stride_of(const Type& type) { return type.bits == 6 ? 8 : type.bits; }
/// f32, f16 or bf16 to a narrower type, one or two elements.
void emit_narrowing(Decoder& decoder, const Type& to, const Type& from, const PackedShape& shape,
                    const Modifiers& modifiers);
/// A pair of 4 to 8 bits each to a pair of f16, or of ue8m0 to a pair of bf16.
void emit_widening(Decoder& decoder, const Type& to, const Type& from, const Modifiers& modifiers);

}  // namespace ptxloom::exec
