// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ptxloom/ir.hpp"
#include "text/scopes.hpp"
#include "text/token_stream.hpp"

// The initialiser after the `=` of a variable: numbers, and addresses that the linker fills in. PTX requires
// one pair of braces per dimension, but fills an array from its start, ignoring what the inner ones leave
// open: a[2][3] = {{1}, {2}} starts with 1, 2. So values are consecutive bytes here, too.
namespace ptxloom::text {

/// `.v2 .f32 x[4][8]` is {{4, 8}, 2}.
struct Shape {
  std::vector<std::uint64_t> dimensions;
  std::uint32_t vector = 1;
};

/// The values of a numeric variable; determines the size of `x[]`.
void read_initial_values(TokenStream& in, const Shape& shape, const Globals& globals, ir::Variable& variable);

/// The fields of a texture, sampler or surface: `{ addr_mode_0 = wrap, filter_mode = linear }` without its
/// braces.
std::string read_fields(TokenStream& in);

}  // namespace ptxloom::text
