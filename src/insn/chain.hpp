// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "insn/kernel.hpp"

// Which operand of an instruction can take the result of the one before, and how.
namespace ptxloom::insn {

/// Bits of the register that holds an element: 1 for a predicate.
int register_bits(const OperandSpec& operand);
/// Whether it is in registers.
bool is_register(const OperandSpec& operand);
/// What specs/measure/forms.json gives for it; empty if it is up to us.
std::string given_text(const Row& row, const OperandSpec& operand);
/// Index of the operand that is the result; -1 if there is none.
int result_of(const Row& row);
/// Bits of an address of this operand.
int address_bits(const Row& row, const OperandSpec& operand);
/// Whether it has no operand but addresses and returns what lies there, so that a result can be the address
/// of the next.
bool loads_only(const Row& row);

/// Statements that give the register `name`, of `wanted` bits, the value of a register of `bits` bits, so
/// that the assembler keeps both. They use the scratch registers of a kernel.
std::string conversion(const std::string& value, int bits, const std::string& name, int wanted);

}  // namespace ptxloom::insn
