// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/ir.hpp"

// Is this instruction legal for this target? First the join of its form (which variants its opcode and
// operands leave), then small rules that data cannot say, one file each in src/check.
namespace [[gnu::visibility("default")]] ptxloom {

/// Whether these operands fit the variant's places; the first that does not is named with what would fit. A
/// warning says that they fit, but that the PTX manual does not promise it. `kernel` holds the registers and
/// vector elements that the operands refer to.
std::optional<Diagnostic> check_operands(const ir::Kernel& kernel, Variant variant,
                                         std::span<const ir::Operand> operands);

/// Of all variants an opcode reads as, the first that is on the target and whose places these operands fit.
/// Throws nothing: on failure `diagnostic` says which operand, or which targets have it. An undocumented
/// variant comes last, and with a warning. Given the specs, the hint lists variants of the same form that
/// would take the operands.
struct Resolution {
  Variant variant;
  std::optional<Diagnostic> diagnostic;
};
Resolution resolve(const ir::Kernel& kernel, std::span<const Variant> candidates,
                   std::span<const ir::Operand> operands, const Target& target, const Specs* specs = nullptr);

/// Every instruction of a module against its target and version.
std::vector<Diagnostic> check(const ir::Module& module);

/// Statements as they would stand in the body of a kernel, after declarations and labels of that body.
struct Snippet {
  std::string_view ptx;
  std::string_view declarations;
  std::string_view target;
  Version version{9, 0};
};
/// Reads the statements and checks them. Lines and columns count from 1 within `ptx`; what is wrong elsewhere
/// (in the declarations, with the target) has line 0.
std::vector<Diagnostic> check(const Snippet& snippet, const std::shared_ptr<const Specs>& specs);

}  // namespace ptxloom
