// SPDX-License-Identifier: Apache-2.0
// min and max of f32, f16, bf16 and pairs of these: .NaN, .xorsign.abs, three operands.
#include <array>
#include <string>

#include "base/numeric_format.hpp"
#include "lower/fallback.hpp"

namespace ptxloom::lower {
namespace {

constexpr std::uint32_t kNan = 0x7fff'ffff;

std::string opcode_of(const Variant& variant, std::string_view nan, std::string_view type) {
  std::string opcode(*variant.slot("op"));
  if (variant.slot("ftz")) opcode += ".ftz";
  return opcode.append(nan).append(".").append(type);
}

std::string_view nan_of(const Variant& variant) { return variant.slot("nan") ? ".NaN" : ""; }

bool is_pair(const Variant& variant) { return variant.slot("type")->ends_with("x2"); }
bool is_half(const Variant& variant) { return variant.slot("type")->starts_with("f16"); }

/// The bits of an operand, with zeros above those of 16 bits.
Reg word_of(Emitter& emit, Reg value) {
  return value.type.bits == 16 ? emit.into(u32, "cvt.u32.u16", value) : emit.bits_of(value);
}

Reg value_of(Emitter& emit, Type type, Reg word) {
  if (type.bits == 32) return emit.into(type, "mov.b32", word);
  return emit.into(type, "mov.b16", emit.into(b16, "cvt.u16.u32", word));
}

Reg propagating(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const Reg number = emit(opcode_of(variant, "", "f32"), operands[0], operands[1]);
  const Reg any = emit("setp.nan.f32", operands[0], operands[1]);
  return emit.single_of(emit("selp.b32", kNan, emit.bits_of(number), any));
}

Reg of_three(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const std::string opcode = opcode_of(variant, nan_of(variant), "f32");
  std::vector<Reg> values(operands.begin(), operands.end());
  if (variant.slot("abs"))
    for (Reg& value : values) value = emit("abs.f32", value);
  return emit.lowered(opcode, emit.lowered(opcode, values[0], values[1]), values[2]);
}

// A NaN gets no sign. As the magnitude of the result is nonnegative, an addend makes the sign bit that of
// NaN.
Reg with_sign_product(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const std::string_view type = *variant.slot("type");
  const bool single = type == "f32";
  const auto repeated = [&](std::uint32_t half) { return is_pair(variant) ? half | half << 16 : half; };
  const std::uint32_t magnitude = single ? kNan : repeated(0x7fff), sign = single ? ~kNan : repeated(0x8000);
  const std::uint32_t above = single ? 0x7f'ffff : repeated(is_half(variant) ? 0x3ff : 0x7f);
  const Reg a = word_of(emit, operands[0]), b = word_of(emit, operands[1]);
  const auto absolute = [&](Reg word) {
    return value_of(emit, variant.operands()[1].type, emit("and.b32", word, magnitude));
  };
  const Reg result =
      word_of(emit, emit.lowered(opcode_of(variant, nan_of(variant), type), absolute(a), absolute(b)));
  const std::uint32_t differ_unless_third = 0x14, first_or_both = 0xf8;
  const Reg product = emit("lop3.b32", a, b, emit("add.u32", result, above), differ_unless_third);
  return value_of(emit, variant.operands()[0].type, emit("lop3.b32", result, product, sign, first_or_both));
}

/// One element of 16 bits as f32. A subnormal f16 is a normal f32, so .ftz must flush it before.
Reg widened(Emitter& emit, const Variant& variant, Reg value) {
  if (!is_half(variant)) return emit.single_of(emit("shl.b32", emit.into(u32, "cvt.u32.u16", value), 16));
  if (!variant.slot("ftz")) return emit("cvt.f32.f16", value);
  const Reg one = emit.into(b16, "mov.b16", base::kF16.bias << base::kF16.mantissa_bits);
  return emit("cvt.f32.f16", emit.into(b16, "mul.rn.ftz.f16", value, one));
}

Reg short_element(Emitter& emit, const Variant& variant, Reg a, Reg b) {
  const std::string opcode = std::string(*variant.slot("op")) + std::string(nan_of(variant)) + ".f32";
  const Reg result = emit.lowered(opcode, widened(emit, variant, a), widened(emit, variant, b));
  if (is_half(variant)) return emit.into(b16, "cvt.rn.f16.f32", result);
  return emit.halves_of(emit.bits_of(result))[1];
}

Reg by_singles(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const Type type = variant.operands()[0].type;
  if (!is_pair(variant))
    return emit.into(type, "mov.b16", short_element(emit, variant, operands[0], operands[1]));
  const std::vector<Reg> a = emit.halves_of(operands[0]), b = emit.halves_of(operands[1]);
  const std::array both{short_element(emit, variant, a[0], b[0]), short_element(emit, variant, a[1], b[1])};
  return emit.packed(type, both);
}

constexpr std::string_view kShort = "f16 f16x2 bf16 bf16x2", kAny = "f32 f16 f16x2 bf16 bf16x2";
using Conditions = std::array<Fallback::Condition, 6>;

constexpr Conditions two(std::string_view types, std::string_view nan, std::string_view xorsign) {
  return {{{"type", types}, {"ftz", "- ftz"}, {"nan", nan}, {"xorsign", xorsign}, {"third", "-"}}};
}

constexpr std::array kMinMax{
    Fallback{"min.float",
             {{{"type", "f32"}, {"ftz", "- ftz"}, {"nan", "- NaN"}, {"abs", "- abs"}, {"third", "f32"}}},
             of_three},
    Fallback{"min.float", two("f32", "NaN", "-"), propagating},
    Fallback{"min.float", two(kShort, "- NaN", "-"), by_singles},
    Fallback{"min.float", two(kAny, "- NaN", "xorsign"), with_sign_product},
};

}  // namespace

std::span<const Fallback> fallbacks_of_minmax() { return kMinMax; }

}  // namespace ptxloom::lower
