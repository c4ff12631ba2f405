// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ptxloom/builder.hpp"

// The operands that a fallback is given, checked and as the registers that its emitter takes.
namespace ptxloom::lower {

/// The operands that the variant only writes, which are its first, and the others.
///@{
std::span<const OperandSpec> results_of(const Variant& variant);
std::span<const OperandSpec> inputs_of(const Variant& variant);
///@}

/// Throws Error(usage, "operand-count") unless there are as many operands as places.
void require_count(const Variant& variant, std::span<const OperandSpec> places, std::size_t given,
                   const Caller& at);

/// The registers of the inputs. Appends instructions for integers in vectors and for addresses.
std::vector<Reg> input_registers(KernelBuilder& k, const Variant& variant, std::span<const Arg> args,
                                 const Caller& at);

/// The registers that the results go to.
std::vector<Reg> result_registers(const Variant& variant, std::span<const Arg> args, const Caller& at);

/// The error of a fallback.
[[noreturn]] void refuse(const char* code, const Variant& variant, const Caller& at, const std::string& what,
                         std::string hint);

}  // namespace ptxloom::lower
