// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/ir.hpp"
#include "text/buffer.hpp"

// Declarations as text.
namespace ptxloom::text {

inline constexpr std::string_view kIndent = "    ";

void write_linkage(Buffer& out, ir::Linkage linkage);  ///< ".visible " or nothing
void write_attribute(Buffer& out, bool managed, const std::optional<ir::Unified>& unified);
/// Lines of `//`.
/// A comment. A line break in it would end it, and what follows would be PTX, so it continues on another
/// line.
void write_comment(Buffer& out, std::string_view indent, std::string_view text);
void write_comments(Buffer& out, const std::vector<std::string>& comments);
void write_variable(Buffer& out, const ir::Variable& variable);
/// `(.param .b32 x, .reg .b64 y)`, on separate lines if `lines`.
void write_parameters(Buffer& out, const std::vector<ir::Parameter>& parameters, bool lines);
/// The directives that functions and prototypes share, each preceded by a blank.
void write_call_directives(Buffer& out, const ir::Interface& interface);
/// All registers of a function except those that are parameters.
void write_registers(Buffer& out, const ir::Function& function);

}  // namespace ptxloom::text
