// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/specs.hpp"

// A variant as lines for ptxas: its opcode with canonical operands, untyped registers of just the right
// width.
namespace ptxloom::oracle {

/// One line, or several where an operand names one of several symbols.
std::vector<std::string> lines_of(const Variant& variant);

/// The line of an opcode with these operands, each in its first form.
std::string line_of(std::string_view opcode, std::span<const OperandSpec> operands,
                    std::span<const OperandPiece> pieces, std::size_t symbol = 0);

/// Whether a place that takes `ours` takes what stands where `tried` is tried.
bool covers(const OperandSpec& ours, const OperandSpec& tried);

}  // namespace ptxloom::oracle
