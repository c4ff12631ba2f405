// SPDX-License-Identifier: Apache-2.0
// cvt to pairs of e4m3, e5m2, e2m3 and e3m2, rounded to nearest even.
//
// A magnitude x, clamped to the largest finite one, is rounded by an addition: the sum of x and 2^(e + 23 -
// m), where 2^e is the leading bit of x, or of the smallest normal number if x is smaller, and m the number
// of mantissa bits, has x in units of 2^(e - m) in its low bits. The code of x is that count plus 2^m times
// e, counted from the smallest normal exponent. The exponent field of 2^e, shifted right by 23 - m, has the
// second term except for a constant, and that constant, modulo 256, is put into the low bits of the number
// that is added, where it is a whole, even number of units.
#include <array>
#include <cmath>

#include "base/numeric_format.hpp"
#include "lower/fallback.hpp"

namespace ptxloom::lower {
namespace {

struct Narrow {
  int mantissa_bits;
  int min_exponent;
  int sign_bit;
  float largest;
  float nan;  // the value whose code would be that of NaN, if it were a number
};

float value_of(const base::FloatFormat& format, std::uint64_t code) {
  const auto field = static_cast<int>(code >> format.mantissa_bits);
  const auto mantissa = code & ((1U << format.mantissa_bits) - 1);
  const double fraction = 1 + std::ldexp(static_cast<double>(mantissa), -format.mantissa_bits);
  return static_cast<float>(std::ldexp(fraction, field - format.bias));
}

Narrow narrow_of(std::string_view pair) {
  pair.remove_suffix(2);  // x2
  const base::FloatFormat& format = *base::find_format(*find_type(pair));
  return {.mantissa_bits = format.mantissa_bits,
          .min_exponent = format.min_exponent(),
          .sign_bit = format.sign_bit(),
          .largest = value_of(format, format.max_finite()),
          .nan = value_of(format, format.nan)};
}

/// An element: the magnitude of its code in the low byte, and a register whose highest bit is its sign.
struct Coded {
  Reg magnitude;
  Reg sign;
};

Coded coded(Emitter& emit, const Narrow& type, Reg value, bool relu) {
  const int shift = 23 - type.mantissa_bits;
  const int offset = -((127 + type.min_exponent) << type.mantissa_bits) & 0xff;
  const Reg is_nan = emit("setp.nan.f32", value, value);
  const Reg kept = relu ? emit("max.f32", value, 0.0F) : emit("abs.f32", value);
  const Reg number = emit("selp.f32", type.nan, emit("min.f32", kept, type.largest), is_nan);
  const Reg normal = emit("max.f32", number, std::ldexp(1.0F, type.min_exponent));
  const Reg leading = emit("or.b32", emit("and.b32", normal, 0x7f80'0000), offset);
  const Reg sum = emit("fma.rn.f32", leading, std::ldexp(1.0F, shift), number);
  const Reg code = emit("add.u32", emit.bits_of(sum), emit("shr.u32", leading, shift));
  return {code, relu ? value : emit("selp.b32", 0, emit.bits_of(value), is_nan)};
}

Reg pair_of(Emitter& emit, const Variant& variant, Reg upper, Reg lower) {
  const Narrow type = narrow_of(*variant.slot("d"));
  const bool relu = variant.slot("relu").has_value();
  const Coded a = coded(emit, type, upper, relu), b = coded(emit, type, lower, relu);
  const std::uint32_t sign = 0x0101U << type.sign_bit, magnitude = sign - 0x0101U;
  Reg pair = emit("prmt.b32", b.magnitude, a.magnitude, 0x0040);
  pair = emit("and.b32", pair, magnitude);
  if (!relu) {
    const Reg bytes = emit("prmt.b32", b.sign, a.sign, 0x0073);
    const Reg signs = type.sign_bit == 7 ? bytes : emit("shr.u32", bytes, 7 - type.sign_bit);
    pair = emit("or.b32", pair, emit("and.b32", signs, sign));
  }
  return emit.into(variant.operands().front().type, "cvt.u16.u32", pair);
}

Reg from_singles(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  return pair_of(emit, variant, operands[0], operands[1]);
}

Reg from_halves(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const std::vector<Reg> halves = emit.halves_of(operands[0]);
  return pair_of(emit, variant, emit("cvt.f32.f16", halves[1]), emit("cvt.f32.f16", halves[0]));
}

Reg from_brains(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const auto single = [&](Reg bits) { return emit.into(f32, "mov.b32", bits); };
  const Reg upper = single(emit("and.b32", operands[0], 0xffff'0000));
  return pair_of(emit, variant, upper, single(emit("shl.b32", operands[0], 16)));
}

constexpr std::string_view kTypes = "e4m3x2 e5m2x2 e2m3x2 e3m2x2";

constexpr std::array kToNarrow{
    Fallback{"cvt.fp8.f32",
             {{{"rnd", "rn"}, {"relu", "- relu"}, {"pzo", "-"}, {"scaled", "-"}, {"d", kTypes}}},
             from_singles},
    Fallback{
        "cvt.fp8.f16x2",
        {{{"rnd", "rn"}, {"relu", "- relu"}, {"pzo", "-"}, {"scaled", "-"}, {"d", kTypes}, {"a", "f16x2"}}},
        from_halves},
    Fallback{
        "cvt.fp8.f16x2",
        {{{"rnd", "rn"}, {"relu", "- relu"}, {"pzo", "-"}, {"scaled", "-"}, {"d", kTypes}, {"a", "bf16x2"}}},
        from_brains},
};

}  // namespace

std::span<const Fallback> fallbacks_to_narrow() { return kToNarrow; }

}  // namespace ptxloom::lower
