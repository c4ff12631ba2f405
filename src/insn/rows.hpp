// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "insn/rules.hpp"
#include "ptxloom/specs.hpp"

// The rows of the table: a variant for each form and type of a target. Variants that differ only in rounding,
// saturation, comparison, caching, ordering or scope count as one; the shortest opcode stands for them.
namespace ptxloom::insn {

struct Row {
  Variant variant;
  const FormRule* rule = nullptr;
  std::string essence;                 ///< opcode without the modifiers that do not matter
  std::string why_not;                 ///< why it is not measured; empty if it is
  std::vector<std::int64_t> literals;  ///< by operand, for those that must be literals
};

/// What a user may name: nothing for all, a form, a family, or an opcode or its beginning. Throws
/// Error(usage, "unknown-form") for what no form of the database has, and Error(refused, "not-on-target") for
/// what the target lacks.
std::vector<Row> rows(const Specs& specs, const Target& target, std::string_view selection,
                      const Rules& rules = Rules::compiled());

}  // namespace ptxloom::insn
