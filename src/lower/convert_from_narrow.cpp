// SPDX-License-Identifier: Apache-2.0
// cvt of pairs of e4m3, e5m2, e2m3, e3m2, e2m1 and ue5m3 to f16x2 and bf16x2.
//
// Exponent and mantissa, put where those of an f16 are, are an f16 that is too small by a power of two, also
// if they are subnormal; a product makes up for that, exactly.
#include <array>
#include <cmath>
#include <string>

#include "base/numeric_format.hpp"
#include "lower/fallback.hpp"

namespace ptxloom::lower {
namespace {

constexpr std::uint32_t kSecondOrThird = 0xb8;  // of lop3: mask ? third : first

std::uint32_t twice(std::uint32_t half) { return half | half << 16; }

/// 2^exponent in both halves; `mantissa` are the 10 bits behind the leading one.
Reg constant(Emitter& emit, int exponent, std::uint32_t mantissa = 0) {
  const std::uint32_t half = static_cast<std::uint32_t>(exponent + base::kF16.bias) << 10 | mantissa;
  return emit.into(b32, "mov.b32", twice(half));
}

/// Both elements, each in the low bits of a half; other bits may be above them.
Reg spread(Emitter& emit, Reg pair) {
  if (pair.type.bits == 8)  // of two elements of 4 bits
    return emit("mul.lo.u32", emit.into(u32, "cvt.u32.u8", pair), 1 | 1 << 12);
  return emit("prmt.b32", emit.into(u32, "cvt.u32.u16", pair), 0, 0x4140);
}

Reg shifted(Emitter& emit, Reg bits, int left, std::uint32_t mask) {
  return emit("and.b32", left == 0 ? bits : emit("shl.b32", bits, left), twice(mask));
}

/// The f16 of the same sign, exponent field and mantissa; with relu 0 for a negative one.
Reg placed(Emitter& emit, const base::FloatFormat& format, Reg bits, bool relu) {
  const int left = base::kF16.mantissa_bits - format.mantissa_bits;
  const std::uint32_t magnitude = ((1U << format.sign_bit()) - 1) << left;
  const Reg number = shifted(emit, bits, left, magnitude);
  const Reg sign = shifted(emit, bits, 15 - format.sign_bit(), 0x8000);
  if (!relu) return emit("or.b32", number, sign);
  const Reg negative = emit("prmt.b32", sign, 0, 0xbb99);  // the sign in all bits of a half
  return emit("and.b32", number, emit("not.b32", negative));
}

/// NaN, in e4m3 the only pattern of that exponent that is no number, becomes infinity where it is multiplied
/// by this; the largest number, 448, does not: 1.75 * 37376 = 65408.
constexpr int kOverflow = 15;
constexpr std::uint32_t kOverflowMantissa = 0x90;  // (1 + 0x90 / 1024) * 2^15 = 37376

Reg from_e4m3(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const base::FloatFormat& format = base::kE4m3;
  const Reg bits = spread(emit, operands[0]);
  const Reg any = placed(emit, format, bits, false);
  const Reg kept = variant.slot("relu") ? placed(emit, format, bits, true) : any;
  const Reg value = emit("mul.rn.f16x2", kept, constant(emit, base::kF16.bias - format.bias));
  const Reg infinite = emit("mul.rn.f16x2", any, constant(emit, kOverflow, kOverflowMantissa));
  const Reg zero = emit.into(b32, "mov.b32", 0);
  return emit("fma.rn.f16x2", infinite, zero, value);  // infinity times zero is NaN
}

Reg from_e5m2(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const base::FloatFormat& format = base::kE5m2;
  const Reg bits = spread(emit, operands[0]);
  const Reg value = placed(emit, format, bits, variant.slot("relu").has_value());
  // The highest bit of a byte is set where the magnitude is above that of infinity.
  const std::uint32_t above = 0x7f - static_cast<std::uint32_t>(format.infinity());
  const Reg raised = emit("add.u32", emit("and.b32", bits, twice(0x7f)), twice(above));
  const Reg is_nan = emit("prmt.b32", raised, 0, 0xaa88);
  return emit("lop3.b32", value, is_nan, twice(base::kF16.nan), kSecondOrThird);
}

Reg from_finite(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  std::string_view name = *variant.slot("a");
  name.remove_suffix(2);  // x2
  const base::FloatFormat& format = *base::find_format(*find_type(name));
  const Reg value = placed(emit, format, spread(emit, operands[0]), variant.slot("relu").has_value());
  return emit("mul.rn.f16x2", value, constant(emit, base::kF16.bias - format.bias));
}

/// All bits of a half are its highest bit.
Reg highest_bits(Emitter& emit, Reg halves) { return emit("prmt.b32", halves, 0, 0xbb99); }

/// NaN for the pattern 0xff, else `value`; `bits` are spread.
Reg with_nan(Emitter& emit, Reg bits, Reg value) {
  const Reg is_nan = highest_bits(emit, emit("add.u32", bits, twice(0x7f01)));
  return emit("lop3.b32", value, is_nan, twice(base::kF16.nan), kSecondOrThird);
}

// A ue5m3 is an f16 without sign and low bits, but its numbers with the highest exponent are infinite in f16.
Reg half_from_unsigned(Emitter& emit, const Variant& /*variant*/, std::span<const Reg> operands) {
  const Reg bits = spread(emit, operands[0]);
  const Reg beyond = highest_bits(emit, emit("add.u32", bits, twice(0x7f08)));
  const std::uint32_t first_unless_both = 0x70;  // value & ~(beyond & mantissa)
  const Reg value = emit("lop3.b32", emit("shl.b32", bits, 7), beyond, twice(7 << 7), first_unless_both);
  return with_nan(emit, bits, value);
}

/// The upper halves of two f32.
Reg upper_halves(Emitter& emit, Reg upper, Reg lower) {
  return emit("prmt.b32", emit.bits_of(lower), emit.bits_of(upper), 0x7632);
}

Reg brain_from_unsigned(Emitter& emit, const Variant& /*variant*/, std::span<const Reg> operands) {
  const Reg bits = spread(emit, operands[0]);
  const int bias = base::kF32.bias - base::kUe5m3.bias;
  const auto value = [&](Reg placed) {
    return emit("mul.rn.f32", emit.single_of(placed), std::ldexp(1.0F, bias));
  };
  const Reg upper = value(emit("and.b32", emit("shl.b32", bits, 4), 0xff0'0000));
  const Reg lower = value(emit("shl.b32", emit("and.b32", bits, 0xff), 20));
  return with_nan(emit, bits, upper_halves(emit, upper, lower));
}

/// Infinities become the largest number of their sign.
Reg finite(Emitter& emit, Reg brains) {
  const std::uint32_t both_differ = 0x6a;  // (brains & magnitude) ^ infinity, as a & b ^ c
  const Reg rest = emit("lop3.b32", brains, twice(0x7fff), twice(0x7f80), both_differ);
  // The highest bit of a half is set unless it was infinite.
  const Reg others = emit("shr.u32", emit("add.u32", rest, twice(0x7fff)), 15);
  return emit("add.u32", emit("sub.u32", brains, twice(1)), emit("and.b32", others, twice(1)));
}

// By way of f16x2, which has all of them; a bf16 is the upper half of an f32.
Reg brain_from_narrow(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const std::string relu = variant.slot("relu") ? ".relu" : "", from(*variant.slot("a"));
  const Reg pair = emit.lowered("cvt.rn" + relu + ".f16x2." + from, operands[0]);
  const std::vector<Reg> halves = emit.halves_of(pair);
  const Reg brains = upper_halves(emit, emit("cvt.f32.f16", halves[1]), emit("cvt.f32.f16", halves[0]));
  return variant.slot("sat") && from == "e5m2x2" ? finite(emit, brains) : brains;
}

using Conditions = std::array<Fallback::Condition, 6>;

constexpr Conditions half_from(std::string_view types) { return {{{"relu", "- relu"}, {"a", types}}}; }
constexpr Conditions brain_from(std::string_view types) {
  return {{{"relu", "- relu"}, {"sat", "- satfinite"}, {"scaled", "-"}, {"a", types}}};
}

constexpr std::array kFromNarrow{
    Fallback{"cvt.f16x2.fp8", half_from("e4m3x2"), from_e4m3},
    Fallback{"cvt.f16x2.fp8", half_from("e5m2x2"), from_e5m2},
    Fallback{"cvt.f16x2.fp8", half_from("e2m3x2 e3m2x2 e2m1x2"), from_finite},
    Fallback{"cvt.f16x2.fp8", half_from("ue5m3x2"), half_from_unsigned},
    Fallback{"cvt.bf16x2.fp8", brain_from("e4m3x2 e5m2x2 e2m3x2 e3m2x2 e2m1x2"), brain_from_narrow},
    Fallback{"cvt.bf16x2.fp8", brain_from("ue5m3x2"), brain_from_unsigned},
};

}  // namespace

std::span<const Fallback> fallbacks_from_narrow() { return kFromNarrow; }

}  // namespace ptxloom::lower
