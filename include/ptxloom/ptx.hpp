// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/ir.hpp"

/// \file
/// IR to PTX text and back. The specs give the text of instructions; this layer knows the grammar around
/// them: directives, declarations, labels, guards, operands.
namespace [[gnu::visibility("default")]] ptxloom {

/// The module as PTX text, which ptxas accepts as it is.
std::string print(const ir::Module& module);
/// One instruction of a kernel, without indentation: "@%p1 add.s32 %r3, %r1, %r2;".
std::string print(const ir::Kernel& kernel, const ir::Instruction& instruction);
/// A call of a function, without indentation.
std::string print(const ir::Function& function, const ir::Call& call);

/// What parsing returns.
struct ParseResult {
  ir::Module module;                    ///< everything that could be read
  std::vector<Diagnostic> diagnostics;  ///< errors and warnings, with lines and columns
  bool ok() const;                      ///< whether there is no error
};
/// Parses PTX text. Instructions are resolved against the specs, for the module's target or, if it is given,
/// for `target`. Errors in the text are diagnostics; nothing is thrown for them. The result keeps the specs
/// alive.
ParseResult parse(std::string_view ptx, std::shared_ptr<const Specs> specs, std::string_view target = {});

}  // namespace ptxloom
