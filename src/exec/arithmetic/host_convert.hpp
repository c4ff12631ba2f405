// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/machine/decoder.hpp"
#include "ptxloom/numeric.hpp"
#include "ptxloom/type.hpp"

// cvt of floats by the host's arithmetic, each part a file: loops that become vector code. The functions give
// false for types they do not have.
namespace ptxloom::exec {

/// Between integers, f16, bf16, f32 and f64, but for two integers; `integral`: to an integral value.
bool emit_host_conversion(Decoder& decoder, const Type& to, const Type& from, bool integral,
                          const Modifiers& modifiers);
// Its parts.
/// f16, bf16, f32 or f64 to an integer.
void emit_float_to_integer(Decoder& decoder, const Type& to, const Type& from, const Modifiers& modifiers);
/// Anything to f32 or f64; a float to an integral value of its own type.
bool emit_to_wide_float(Decoder& decoder, const Type& to, const Type& from, const Modifiers& modifiers);
void emit_to_integral(Decoder& decoder, const Type& type, const Modifiers& modifiers);
/// Anything to f16 or bf16.
bool emit_to_half(Decoder& decoder, const Type& to, const Type& from, const Modifiers& modifiers);
/// Anything but f64 to f16, or two f32 to a pair; there is no .ftz.
bool emit_to_f16(Decoder& decoder, const Type& from, int inputs, const Modifiers& modifiers);

/// How the elements of a packed type lie in registers.
struct PackedShape {
  int inputs = 1;    ///< registers of one element each, the first the highest of the result; or:
  int elements = 1;  ///< those of one packed register
};
/// How far apart elements lie in a pair: those of six bits in bytes.
inline int stride_of(const Type& type) { return type.bits == 6 ? 8 : type.bits; }
/// Of f32, f16 or bf16 to a narrower type, single or two.
void emit_narrowing(Decoder& decoder, const Type& to, const Type& from, const PackedShape& shape,
                    const Modifiers& modifiers);
/// Of a pair of 4 to 8 bits each to a pair of f16, or of ue8m0 to a pair of bf16.
void emit_widening(Decoder& decoder, const Type& to, const Type& from, const Modifiers& modifiers);

}  // namespace ptxloom::exec
