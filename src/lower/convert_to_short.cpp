// SPDX-License-Identifier: Apache-2.0
// cvt of f32 to f16, bf16, pairs of these and tf32, and of bf16 to f32.
//
// A bf16 and a tf32 are an f32 without its low bits: an addend, then a cut, rounds. A carry out of the
// mantissa raises the exponent, up to infinity.
#include <array>
#include <bit>
#include <string>

#include "base/numeric_format.hpp"
#include "lower/fallback.hpp"

namespace ptxloom::lower {
namespace {

constexpr int kBrainCut = 16, kTf32Cut = 13;  // low bits that are dropped
constexpr std::uint32_t kSign = 0x8000'0000;

std::uint32_t mask_of(int cut) { return (1U << cut) - 1; }

/// What is added to a pattern before its low bits are cut off.
Reg addend(Emitter& emit, std::string_view rounding, Reg bits, int cut) {
  const std::uint32_t mask = mask_of(cut), half = mask / 2;
  if (rounding == "rn")
    return emit("add.u32", emit("and.b32", emit("shr.u32", bits, cut), 1), half);  // a tie goes up if odd
  const Reg negative = emit("setp.ge.u32", bits, kSign);
  return rounding == "rp" ? emit("selp.b32", 0, mask, negative) : emit("selp.b32", mask, 0, negative);
}

/// `value` with its modifiers applied, as far as they change the operand; NaN becomes a number.
Reg clamped(Emitter& emit, const Variant& variant, Reg value, float largest) {
  Reg kept = value;
  if (variant.slot("ftz")) kept = emit("mul.rn.ftz.f32", kept, 1.0F);
  if (variant.slot("relu")) kept = emit("max.f32", kept, 0.0F);
  if (!variant.slot("sat")) return kept;
  kept = emit("min.f32", kept, largest);
  return variant.slot("relu") ? kept : emit("max.f32", kept, -largest);
}

Reg without_negative_zero(Emitter& emit, Reg bits, std::uint32_t sign) {
  return emit("selp.b32", 0, bits, emit("setp.eq.u32", bits, sign));
}

/// The pattern as that of an f32 whose low bits are zero.
Reg rounded(Emitter& emit, const Variant& variant, Reg value, int cut) {
  const std::uint32_t infinity = 0x7f80'0000, keep = ~mask_of(cut), nan = 0x7fff'ffff & keep;
  const std::string_view rounding = *variant.slot("rnd");
  const float largest = std::bit_cast<float>((infinity - 1) & keep);
  const Reg bits = emit.bits_of(clamped(emit, variant, value, largest));
  const Reg sum = rounding == "rz" ? bits : emit("add.u32", bits, addend(emit, rounding, bits, cut));
  Reg result = emit("and.b32", sum, keep);
  if (variant.slot("pzo")) result = without_negative_zero(emit, result, kSign);
  return emit("selp.b32", nan, result, emit("setp.nan.f32", value, value));
}

Reg to_tf32(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  return rounded(emit, variant, operands[0], kTf32Cut);
}

// Ties go away from zero. A NaN is cut off and, with .satfinite, one less.
Reg to_tf32_away(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const std::uint32_t keep = ~mask_of(kTf32Cut), unit = 1U << kTf32Cut;
  const float largest = std::bit_cast<float>(0x7f7f'ffff & keep);
  const Reg number = emit.bits_of(clamped(emit, variant, operands[0], largest));
  Reg nan = emit("and.b32", emit.bits_of(operands[0]), keep);
  if (variant.slot("sat")) nan = emit("sub.u32", nan, unit);
  const Reg result = emit("and.b32", emit("add.u32", number, unit / 2), keep);
  return emit("selp.b32", nan, result, emit("setp.nan.f32", operands[0], operands[0]));
}

Reg to_brain(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const Reg word = emit("shr.u32", rounded(emit, variant, operands[0], kBrainCut), kBrainCut);
  return emit.into(variant.operands()[0].type, "mov.b16", emit.into(b16, "cvt.u16.u32", word));
}

Reg to_two_brains(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const Reg upper = rounded(emit, variant, operands[0], kBrainCut);
  const Reg lower = rounded(emit, variant, operands[1], kBrainCut);
  return emit.into(variant.operands()[0].type, "mov.b32", emit("prmt.b32", lower, upper, 0x7632));
}

/// An f16 in the low half of a word. cvt itself rounds, and clamps.
Reg half_word(Emitter& emit, const Variant& variant, Reg value) {
  const std::string finite = variant.slot("sat") ? ".satfinite" : "", rounding(*variant.slot("rnd"));
  const Reg kept =
      variant.slot("relu") ? emit.lowered("max.NaN.f32", value, emit.into(f32, "mov.f32", 0.0F)) : value;
  const Reg half = emit("cvt." + rounding + finite + ".f16.f32", kept);
  const Reg word = emit.into(u32, "cvt.u32.u16", emit.into(b16, "mov.b16", half));
  return variant.slot("pzo") ? without_negative_zero(emit, word, 0x8000) : word;
}

Reg to_half(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const Reg word = half_word(emit, variant, operands[0]);
  return emit.into(variant.operands()[0].type, "mov.b16", emit.into(b16, "cvt.u16.u32", word));
}

Reg to_two_halves(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const Reg upper = half_word(emit, variant, operands[0]), lower = half_word(emit, variant, operands[1]);
  return emit.into(variant.operands()[0].type, "mov.b32", emit("prmt.b32", lower, upper, 0x5410));
}

Reg from_brain(Emitter& emit, const Variant& /*variant*/, std::span<const Reg> operands) {
  return emit.single_of(emit("shl.b32", emit.into(u32, "cvt.u32.u16", operands[0]), kBrainCut));
}

using Conditions = std::array<Fallback::Condition, 6>;

constexpr Conditions to(std::string_view type) {
  return {{{"d", type},
           {"rnd", "rn rz rm rp"},
           {"ftz", "- ftz"},
           {"relu", "- relu"},
           {"sat", "- satfinite"},
           {"pzo", "- pzo"}}};
}

constexpr std::array kToShort{
    Fallback{"cvt.f16.f32", to("f16"), to_half},
    Fallback{"cvt.f16.f32", to("f16x2"), to_two_halves},
    Fallback{"cvt.f16.f32", to("bf16"), to_brain},
    Fallback{"cvt.f16.f32", to("bf16x2"), to_two_brains},
    Fallback{"cvt",
             {{{"d", "bf16"}, {"a", "f32"}, {"rnd", "rn rz rm rp"}, {"ftz", "- ftz"}, {"sat", "-"}}},
             to_brain},
    Fallback{"cvt", {{{"d", "f32"}, {"a", "bf16"}, {"rnd", "-"}, {"ftz", "-"}, {"sat", "-"}}}, from_brain},
    Fallback{
        "cvt.tf32", {{{"rnd", "rna"}, {"relu", "-"}, {"sat", "- satfinite"}, {"pzo", "-"}}}, to_tf32_away},
    Fallback{"cvt.tf32",
             {{{"rnd", "rn rz"}, {"relu", "- relu"}, {"sat", "- satfinite"}, {"pzo", "- pzo"}}},
             to_tf32},
};

}  // namespace

std::span<const Fallback> fallbacks_to_short() { return kToShort; }

}  // namespace ptxloom::lower
