// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ptxloom/ir.hpp"
#include "text/scopes.hpp"
#include "text/token_stream.hpp"

// A function before its body: parameters, results, and the directives that apply to all of it.
namespace ptxloom::text {

/// `(.param .b64 x, .reg .b32 n)`, declared in the scope of the function.
std::vector<ir::Parameter> read_parameters(TokenStream& in, Scopes& scopes, ir::Space space);

/// The same for results.
std::vector<ir::Parameter> read_results(TokenStream& in, Scopes& scopes);

/// `(.param .b32 _) _ (.param .b64 _, .param .b64 _) .noreturn;`: what follows .callprototype, including the
/// `;`.
ir::Prototype read_prototype(TokenStream& in);

/// `.maxntid 256, 1, 1` and the like, up to the `{` or `;`.
void read_directives(TokenStream& in, ir::Function& function);

/// `"nounroll", "used_bytes_mask 0xFF"`: what follows .pragma.
std::string read_pragmas(TokenStream& in);

}  // namespace ptxloom::text
