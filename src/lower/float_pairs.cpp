// SPDX-License-Identifier: Apache-2.0
// add, sub, mul and fma of f32x2, and of f16 or bf16 operands with an f32 and a result of f32.
//
// Every f16 and bf16 is an f32, so each element is one instruction of f32, which rounds once.
#include <array>
#include <string>

#include "lower/fallback.hpp"

namespace ptxloom::lower {
namespace {

/// The opcode of the f32 instruction that computes one element, with the modifiers that both have.
std::string opcode_of(const Variant& variant) {
  std::string opcode(variant.slot("op").value_or("fma"));
  for (const char* const name : {"rnd", "ftz", "sat"})
    if (const auto value = variant.slot(name)) opcode += "." + std::string(*value);
  return opcode + ".f32";
}

Reg element(Emitter& emit, const std::string& opcode, std::span<const Reg> operands) {
  if (operands.size() == 2) return emit(opcode, operands[0], operands[1]);
  return emit(opcode, operands[0], operands[1], operands[2]);
}

/// The f32 equal to a value of 16 bits.
Reg widened(Emitter& emit, bool is_brain, Reg value) {
  if (!is_brain) return emit("cvt.f32.f16", value);
  return emit.single_of(emit("shl.b32", emit.into(u32, "cvt.u32.u16", value), 16));
}

Reg pairwise(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const std::string opcode = opcode_of(variant);
  std::vector<Reg> lower, upper;
  for (const Reg operand : operands) {
    const std::vector<Reg> singles = emit.parts_of(f32, operand);
    lower.push_back(singles[0]);
    upper.push_back(singles[1]);
  }
  const std::array both{element(emit, opcode, lower), element(emit, opcode, upper)};
  return emit.packed(variant.operands().front().type, both);
}

/// The last operand is an f32.
Reg mixed(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  std::vector<Reg> singles(operands.begin(), operands.end());
  for (std::size_t i = 0; i + 1 < singles.size(); ++i)
    singles[i] = widened(emit, variant.slot("type") == "bf16", singles[i]);
  return element(emit, opcode_of(variant), singles);
}

constexpr std::string_view kRound = "rn rz rm rp", kRoundOrNone = "- rn rz rm rp";

constexpr std::array kPairs{
    Fallback{
        "add.float", {{{"type", "f32x2"}, {"rnd", kRoundOrNone}, {"ftz", "- ftz"}, {"sat", "-"}}}, pairwise},
    Fallback{
        "fma",
        {{{"op", "fma"}, {"type", "f32x2"}, {"rnd", kRound}, {"ftz", "- ftz"}, {"sat", "-"}, {"oob", "-"}}},
        pairwise},
    Fallback{"add.mixed", {{{"type", "f16 bf16"}, {"rnd", kRoundOrNone}, {"sat", "- sat"}}}, mixed},
    Fallback{"fma.mixed", {{{"type", "f16 bf16"}, {"rnd", kRound}, {"sat", "- sat"}}}, mixed},
};

}  // namespace

std::span<const Fallback> fallbacks_of_pairs() { return kPairs; }

}  // namespace ptxloom::lower
