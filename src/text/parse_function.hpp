// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "ptxloom/ir.hpp"
#include "text/read_instruction.hpp"
#include "text/report.hpp"
#include "text/scopes.hpp"
#include "text/token_stream.hpp"

namespace ptxloom::text {

/// The module context of a function.
struct Surroundings {
  Opcodes& opcodes;
  const Tokens& tokens;
  const Globals& globals;
  std::deque<std::string>& made;  ///< keeps names that are not in the text
  std::size_t& registers_left;    ///< that the module may still declare
  /// Declares a function of the module once its name has been read.
  std::function<void(const Token&)> declare;
};

/// Reads a function from what follows `.entry` or `.func` to its closing brace, or to the `;` of a
/// declaration. An invalid statement is reported and skipped; an invalid head throws SyntaxError.
void parse_function(TokenStream& in, const Surroundings& around, ir::Function& function, Report& report);

}  // namespace ptxloom::text
