// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "exec/machine/decoder.hpp"
#include "exec/machine/operation.hpp"
#include "ptxloom/numeric.hpp"

// Floating-point instructions by the host's arithmetic, in loops that compilers vectorise: the same bits as
// the exact arithmetic of src/base, many times faster. A function returns null, or false, for what it does
// not support. Types are spelled as in PTX, including pairs.
namespace ptxloom::exec {

/// add, sub, mul, div, fma, rcp and sqrt in any rounding direction, with .sat, .relu and .ftz; not .approx.
bool emit_host_arithmetic(Decoder& decoder, std::string_view op, std::string_view type,
                          const Modifiers& modifiers);
// The parts, without clamps: f32, f64, f16 and bf16.
Semantic host_single(std::string_view op, bool pair, const Modifiers& modifiers);
Semantic host_double(std::string_view op, Rounding rounding);
Semantic host_half(std::string_view op, std::string_view type, bool ftz);

/// fma.oob: a factor that is out of bounds makes the result zero.
Semantic host_fma_out_of_bounds(std::string_view type);
/// sin, cos, lg2, ex2, tanh and rsqrt.
Semantic host_approximation(std::string_view op, std::string_view type, bool ftz);
/// rcp and rsqrt.approx.ftz.f64.
Semantic host_upper_word(std::string_view op);
/// div.approx.f32.
Semantic host_approximate_division(bool ftz);
/// add, sub and fma with `narrow` operands, the last one f32.
Semantic host_mixed(std::string_view op, std::string_view narrow, Rounding rounding);

struct MinMaxWords {
  bool is_min = false, propagate_nan = false, abs = false, xorsign = false, ftz = false;
  bool three = false;  ///< three operands
};
bool emit_host_minmax(Decoder& decoder, std::string_view type, const MinMaxWords& words);
/// neg and abs.
bool emit_host_sign(Decoder& decoder, std::string_view type, bool is_abs, bool ftz);
Semantic host_copysign(std::string_view type);

}  // namespace ptxloom::exec
