// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "ptxloom/ir.hpp"
#include "text/scopes.hpp"
#include "text/token_stream.hpp"

// Declarations: `.shared .align 16 .b8 tile[4096];`, `.param .u64 .ptr .global x`, `.reg .b32 %r<12>, n;`.
namespace ptxloom::text {

/// Whether a directive starts the declaration of a variable (a state space, or what may stand before one).
bool starts_variable(const Token& token);

/// A list of variables up to and with the `;`. `name` gives each its name in the IR.
void read_variables(TokenStream& in, const std::function<std::string(const Token&)>& name,
                    std::vector<ir::Variable>& out);

/// One parameter of an entry. The name is declared by the caller.
struct ParameterToken {
  ir::Parameter parameter;
  Token name;
};
ParameterToken read_parameter(TokenStream& in);

/// What follows `.reg`, up to and with the `;`.
void read_registers(TokenStream& in, Scopes& scopes);

}  // namespace ptxloom::text
