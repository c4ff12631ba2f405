// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/ir.hpp"
#include "text/scopes.hpp"
#include "text/token_stream.hpp"

// Calls, and the lists of possible targets of indirect calls and branches. The number of their operands
// varies, so no form in specs/ describes them.
namespace ptxloom::text {

/// `call`, `call.uni`
bool is_call(const Token& opcode);

/// `call.uni (results), callee, (arguments), targets;`
ir::Call read_call(TokenStream& in, ir::Function& function, Scopes& scopes);

/// `.branchtargets L1, L2;` or `.calltargets f, g;`
ir::Targets read_targets(TokenStream& in, Scopes& scopes, std::uint32_t label);

}  // namespace ptxloom::text
