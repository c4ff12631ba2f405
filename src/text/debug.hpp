// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/ir.hpp"
#include "text/token_stream.hpp"

// Debug information: `.file`, `.loc` and `.section`. It is not interpreted: a section is checked for its
// grammar and the sizes of its numbers, and kept verbatim. These directives have no `;`: .file and .loc end
// with their line.
namespace ptxloom::text {

/// `.file 1 "name", 123, 456`
ir::File read_file(TokenStream& in);
/// `.loc 1 12 5, function_name $L__info_string0+8, inlined_at 1 3 2`
ir::Location read_location(TokenStream& in);
/// Throws SyntaxError for a line of DWARF in the style of PTX 1: `@@DWARF .byte 0`.
void refuse_old_debug(const TokenStream& in);
/// `.section .debug_info { ... }`
ir::Section read_section(TokenStream& in);

}  // namespace ptxloom::text
