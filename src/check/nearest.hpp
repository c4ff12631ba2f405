// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "ptxloom/ir.hpp"

// Hints: which other variants would be legal here.
namespace ptxloom::check_rules {

/// "would take them: add.s64, add.u64": up to five opcodes with another type that exist on the target and
/// take these operands. "" if there is none.
std::string nearest_hint(const Specs& specs, Variant variant, const ir::Kernel& kernel,
                         std::span<const ir::Operand> operands, const Target& target);

/// "add.s32 D: s32, A: s32, B: s32": the opcode and what each operand takes.
std::string usage_of(Variant variant);

}  // namespace ptxloom::check_rules
