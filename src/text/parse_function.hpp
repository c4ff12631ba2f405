// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "ptxloom/ir.hpp"
#include "text/read_instruction.hpp"
#include "text/report.hpp"
#include "text/scopes.hpp"
#include "text/token_stream.hpp"

namespace ptxloom::text {

/// What a function is read against.
struct Surroundings {
  Opcodes& opcodes;
  const Tokens& tokens;
  const Globals& globals;
  std::size_t& registers_left;  ///< that the module may still declare
  /// Declares a function of the module once its name is read.
  std::function<void(const Token&)> declare;
};

/// Reads a function from what follows `.entry` or `.func` to its closing brace, or to the `;` of a
/// declaration. A statement that does not read is reported and left out; a head that does not read throws
/// SyntaxError.
void parse_function(TokenStream& in, const Surroundings& around, ir::Function& function, Report& report);

}  // namespace ptxloom::text
