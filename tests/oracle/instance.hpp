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

/// The operands' canonical texts; of an operand that names one of several symbols, that one.
std::vector<std::string> operand_texts(std::span<const OperandSpec> operands, std::size_t symbol = 0);

/// An opcode with these operands.
std::string line_of(std::string_view opcode, std::span<const OperandPiece> pieces,
                    std::span<const std::string> operands);

/// The operands and this one at the end.
std::vector<OperandPiece> with_one_more(std::span<const OperandPiece> pieces, const std::string& one);

/// "R32_7" for a type of 32 bits.
std::string register_name(const Type& type, int number);

/// An immediate that the operand takes.
std::string immediate(const OperandSpec& operand);

}  // namespace ptxloom::oracle
