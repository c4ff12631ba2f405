// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/ir.hpp"

// IR to PTX and back. Instructions go through the text of their form; this layer knows the grammar around
// them: directives, declarations, labels, guards, operands.
namespace [[gnu::visibility("default")]] ptxloom {

/// The module as PTX text that ptxas takes as it stands.
std::string print(const ir::Module& module);
/// One instruction of a kernel, without indentation: "@%p1 add.s32 %r3, %r1, %r2;".
std::string print(const ir::Kernel& kernel, const ir::Instruction& instruction);

std::string print(const ir::Function& function, const ir::Call& call);

struct ParseResult {
  ir::Module module;                    ///< what could be read
  std::vector<Diagnostic> diagnostics;  ///< errors and warnings, with lines and columns
  bool ok() const;
};
/// Reads PTX text. Instructions are resolved against the specs for the module's target (or `target` if
/// given).
ParseResult parse(std::string_view ptx, std::shared_ptr<const Specs> specs, std::string_view target = {});

}  // namespace ptxloom
