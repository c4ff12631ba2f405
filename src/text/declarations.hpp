// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "ptxloom/ir.hpp"
#include "text/scopes.hpp"
#include "text/token_stream.hpp"

// Declarations: `.shared .align 16 .b8 tile[4096];`, `.global .u64 table[2] = {f, generic(x)+8};`,
// `.reg .b32 %r<12>, n;`.
namespace ptxloom::text {

/// A type that is allowed in a declaration.
Type read_type(TokenStream& in);
/// What follows `.align`.
std::uint32_t read_alignment(TokenStream& in);
/// `[2][3]` as {2, 3}; `[]` is 0.
std::vector<std::uint64_t> read_dimensions(TokenStream& in);
/// `.visible`, `.extern`, `.weak`, `.common`, or nothing.
ir::Linkage read_linkage(TokenStream& in);
/// `.attribute(.managed, .unified(1, 2))`, or nothing.
struct Attributes {
  bool managed = false;
  std::optional<ir::Unified> unified;
};
Attributes read_attributes(TokenStream& in);

/// Whether a directive is a state space, which starts a variable declaration.
bool starts_variable(const Token& token);
/// `.global`, `.shared` ..., or nothing. `.param` means that of functions.
std::optional<ir::Space> accept_space(TokenStream& in);

struct VariableReader {
  const Globals& globals;         ///< names that initial values may use
  std::deque<std::string>& made;  ///< keeps the names of `v<4>`, which are not in the text
  /// Declares a variable and returns its name in the IR.
  std::function<std::string(const Token&, Place)> declare;
};
/// A list of variables, from the state space up to and including the `;`.
void read_variables(TokenStream& in, ir::Linkage linkage, const VariableReader& reader,
                    std::vector<ir::Variable>& out);

/// What follows `.reg`, up to and including the `;`.
void read_registers(TokenStream& in, Scopes& scopes);

}  // namespace ptxloom::text
