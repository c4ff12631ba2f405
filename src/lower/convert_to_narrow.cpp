// SPDX-License-Identifier: Apache-2.0
// cvt to pairs of e4m3, e5m2, e2m3, e3m2, e2m1 and ue5m3.
//
// A magnitude x, clamped to the largest finite one, is rounded by an addition: the sum of x and 2^(e + 23 -
// m), where 2^e is the leading bit of x, or of the smallest normal number if x is smaller, and m the number
// of mantissa bits, has x in units of 2^(e - m) in its low bits. The code of x is that count plus 2^m times
// e, counted from the smallest normal exponent. The exponent field of 2^e, shifted right by 23 - m, has the
// second term except for a constant, and that constant, modulo 256, is put into the low bits of the number
// that is added, where it is a whole, even number of units. The addition rounds as the conversion does.
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "lower/fallback.hpp"
#include "lower/narrow_format.hpp"

namespace ptxloom::lower {
namespace {

/// A conversion.
struct Narrowing {
  int mantissa_bits;
  int min_exponent;
  int sign_bit;
  bool has_sign;
  std::string addition;  // which rounds
  bool relu;
  bool positive_zero;
  float most;            // larger magnitudes become this one
  float nan;             // the value whose code would be that of NaN, if it were a number
  bool infinity_is_nan;  // and that of infinity too
};

Narrowing narrowing_of(const Variant& variant, const base::FloatFormat& format, bool finite) {
  const std::string rounding(*variant.slot("rnd"));
  const float largest = value_of(format, format.max_finite()), nan = value_of(format, format.nan);
  // Unless results are finite, those beyond the largest number are NaN; rounding toward zero gives none.
  const bool beyond_is_nan = !finite && rounding != "rz";
  return {.mantissa_bits = format.mantissa_bits,
          .min_exponent = format.min_exponent(),
          .sign_bit = format.sign_bit(),
          .has_sign = format.has_sign,
          .addition = "fma." + rounding + ".f32",
          .relu = variant.slot("relu").has_value(),
          .positive_zero = variant.slot("pzo").has_value(),
          .most = beyond_is_nan ? nan : largest,
          .nan = nan,
          .infinity_is_nan = !finite};
}

/// An element: its code without the sign in the low byte, and a register whose highest bit is its sign.
struct Coded {
  Reg code;
  Reg sign;
};

Coded coded(Emitter& emit, const Narrowing& to, Reg value) {
  const int shift = 23 - to.mantissa_bits;
  const int offset = -((127 + to.min_exponent) << to.mantissa_bits) & 0xff;
  const Reg magnitude = to.relu ? emit("max.f32", value, 0.0F) : emit("abs.f32", value);
  const Reg clamped = emit("min.f32", magnitude, to.most);  // also of NaN
  const bool is_signed = to.has_sign && !to.relu, selected = to.relu || to.most != to.nan;
  Reg is_nan, number = clamped;
  if (to.infinity_is_nan && selected)
    is_nan = emit("setp.geu.f32", magnitude, std::numeric_limits<float>::infinity());
  else if (is_signed || selected)
    is_nan = emit("setp.nan.f32", value, value);
  if (selected) number = emit("selp.f32", to.nan, clamped, is_nan);
  const Reg normal = emit("max.f32", number, std::ldexp(1.0F, to.min_exponent));
  const Reg leading = emit("or.b32", emit("and.b32", normal, 0x7f80'0000), offset);
  const Reg sum = emit(to.addition, leading, std::ldexp(1.0F, shift), number);
  const Reg code = emit("add.u32", emit.bits_of(sum), emit("shr.u32", leading, shift));
  return {code, is_signed ? emit("selp.b32", 0, emit.bits_of(value), is_nan) : value};
}

/// The result: an element is in each of the two low bytes of `bytes`, in the lowest bits.
Reg narrow_pair(Emitter& emit, const Variant& variant, Reg bytes) {
  const Type result = variant.operands().front().type;
  if (result.bits == 16) return emit.into(result, "cvt.u16.u32", bytes);
  return emit.into(result, "cvt.u8.u32", emit("or.b32", emit("shr.u32", bytes, 4), bytes));
}

Reg pair_of(Emitter& emit, const Variant& variant, const Narrowing& to, Reg upper, Reg lower) {
  const Coded a = coded(emit, to, upper), b = coded(emit, to, lower);
  Reg pair = emit("prmt.b32", b.code, a.code, 0x0040);
  if (!to.has_sign) return narrow_pair(emit, variant, pair);
  const std::uint32_t sign = 0x0101U << to.sign_bit, magnitude = sign - 0x0101U;
  pair = emit("and.b32", pair, magnitude);
  if (to.relu) return narrow_pair(emit, variant, pair);
  Reg signs = emit("prmt.b32", b.sign, a.sign, 0x0073);
  // The sum has the highest bit of a byte set unless the magnitude is zero.
  if (to.positive_zero) signs = emit("and.b32", signs, emit("add.u32", pair, 0x7f7f));
  if (to.sign_bit != 7) signs = emit("shr.u32", signs, 7 - to.sign_bit);
  return narrow_pair(emit, variant, emit("or.b32", pair, emit("and.b32", signs, sign)));
}

using Pair = std::array<Reg, 2>;  // in f32; the first becomes the upper element

Pair singles(Emitter& /*emit*/, std::span<const Reg> operands) { return {operands[0], operands[1]}; }

Pair halves(Emitter& emit, std::span<const Reg> operands) {
  const std::vector<Reg> parts = emit.halves_of(operands[0]);
  return {emit("cvt.f32.f16", parts[1]), emit("cvt.f32.f16", parts[0])};
}

Pair brains(Emitter& emit, std::span<const Reg> operands) {
  const Reg upper = emit.single_of(emit("and.b32", operands[0], 0xffff'0000));
  return {upper, emit.single_of(emit("shl.b32", operands[0], 16))};
}

template <Pair (*values)(Emitter&, std::span<const Reg>)>
Reg to_type(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const auto [upper, lower] = values(emit, operands);
  return pair_of(emit, variant, narrowing_of(variant, format_of(*variant.slot("d")), true), upper, lower);
}

template <Pair (*values)(Emitter&, std::span<const Reg>)>
Reg to_unsigned(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const auto [upper, lower] = values(emit, operands);
  const bool finite = variant.slot("sat").has_value();
  return pair_of(emit, variant, narrowing_of(variant, base::kUe5m3, finite), upper, lower);
}

constexpr std::string_view kTypes = "e4m3x2 e5m2x2 e2m3x2 e3m2x2 e2m1x2";

using Conditions = std::array<Fallback::Condition, 6>;

constexpr Conditions narrow_from(std::string_view source) {
  return {{{"rnd", "rn rz"},
           {"relu", "- relu"},
           {"pzo", "- pzo"},
           {"scaled", "-"},
           {"d", kTypes},
           {"a", source}}};
}
constexpr Conditions unsigned_from(std::string_view source) {
  return {{{"rnd", "rn rz rp"}, {"sat", "- satfinite"}, {"scaled", "-"}, {"a", source}}};
}

constexpr std::array kToNarrow{
    Fallback{"cvt.fp8.f32", narrow_from("-"), to_type<singles>},
    Fallback{"cvt.fp8.f16x2", narrow_from("f16x2"), to_type<halves>},
    Fallback{"cvt.fp8.f16x2", narrow_from("bf16x2"), to_type<brains>},
    Fallback{"cvt.ue5m3", unsigned_from("f32"), to_unsigned<singles>},
    Fallback{"cvt.ue5m3", unsigned_from("f16x2"), to_unsigned<halves>},
    Fallback{"cvt.ue5m3", unsigned_from("bf16x2"), to_unsigned<brains>},
};

}  // namespace

std::span<const Fallback> fallbacks_to_narrow() { return kToNarrow; }

}  // namespace ptxloom::lower
