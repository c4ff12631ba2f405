// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ptxloom/ir.hpp"
#include "text/scopes.hpp"
#include "text/token_stream.hpp"

// What stands after the `=` of a variable: numbers, and addresses that the linker fills in. PTX wants one
// pair of braces for each dimension, but fills an array from its start whatever the inner ones leave open:
// a[2][3] = {{1}, {2}} starts with 1, 2. So values are bytes in a row here, too.
namespace ptxloom::text {

/// `.v2 .f32 x[4][8]` is {{4, 8}, 2}.
struct Shape {
  std::vector<std::uint64_t> dimensions;
  std::uint32_t vector = 1;
};

/// Values of a variable of numbers; gives `x[]` its size.
void read_initial_values(TokenStream& in, const Shape& shape, const Globals& globals, ir::Variable& variable);

/// Those of a texture, sampler or surface: `{ addr_mode_0 = wrap, filter_mode = linear }` without its braces.
std::string read_fields(TokenStream& in);

}  // namespace ptxloom::text
