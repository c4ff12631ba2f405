// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "ptxloom/ir.hpp"

// What to name in a hint: where a variant is legal, and which others would be legal here.
namespace ptxloom::check_rules {

/// The targets that have a variant, each with the PTX version it takes, without those that follow from
/// another: "sm_90 (PTX 7.8)", "sm_100a (PTX 8.6) or sm_100f (PTX 8.8)".
std::string where_legal(Variant variant);

/// "would take them: add.s64, add.u64": opcodes with another type that are on the target and take these
/// operands, five at most. "" if there is none.
std::string nearest_hint(const Specs& specs, Variant variant, const ir::Kernel& kernel,
                         std::span<const ir::Operand> operands, const Target& target);

/// "add.s32 D: s32, A: s32, B: s32": the opcode and what each operand takes.
std::string usage_of(Variant variant);

}  // namespace ptxloom::check_rules
