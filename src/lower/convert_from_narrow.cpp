// SPDX-License-Identifier: Apache-2.0
// cvt of pairs of e4m3, e5m2, e2m3 and e3m2 to f16x2.
//
// Exponent and mantissa, put where those of an f16 are, are an f16 that is too small by a power of two, also
// if they are subnormal; a product makes up for that, exactly.
#include <array>

#include "base/numeric_format.hpp"
#include "lower/fallback.hpp"

namespace ptxloom::lower {
namespace {

std::uint32_t twice(std::uint32_t half) { return half | half << 16; }

/// 2^exponent in both halves; `mantissa` are the 10 bits behind the leading one.
Reg constant(Emitter& emit, int exponent, std::uint32_t mantissa = 0) {
  const std::uint32_t half = static_cast<std::uint32_t>(exponent + base::kF16.bias) << 10 | mantissa;
  return emit.into(b32, "mov.b32", twice(half));
}

/// Both elements, each in the low byte of a half.
Reg spread(Emitter& emit, Reg pair) {
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
  const std::uint32_t second_or_third = 0xb8;  // is_nan ? constant : value
  return emit("lop3.b32", value, is_nan, twice(base::kF16.nan), second_or_third);
}

Reg from_finite(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  std::string_view name = *variant.slot("a");
  name.remove_suffix(2);  // x2
  const base::FloatFormat& format = *base::find_format(*find_type(name));
  const Reg value = placed(emit, format, spread(emit, operands[0]), variant.slot("relu").has_value());
  return emit("mul.rn.f16x2", value, constant(emit, base::kF16.bias - format.bias));
}

constexpr std::array kFromNarrow{
    Fallback{"cvt.f16x2.fp8", {{{"relu", "- relu"}, {"a", "e4m3x2"}}}, from_e4m3},
    Fallback{"cvt.f16x2.fp8", {{{"relu", "- relu"}, {"a", "e5m2x2"}}}, from_e5m2},
    Fallback{"cvt.f16x2.fp8", {{{"relu", "- relu"}, {"a", "e2m3x2 e3m2x2"}}}, from_finite},
};

}  // namespace

std::span<const Fallback> fallbacks_from_narrow() { return kFromNarrow; }

}  // namespace ptxloom::lower
