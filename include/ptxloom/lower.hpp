// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <initializer_list>
#include <string_view>

#include "ptxloom/builder.hpp"

/// \file
/// Fallbacks: instructions that a target lacks, made of those that it has. `lower::op` appends the
/// instruction itself where the target has it. Elsewhere it appends the fallback, whose results have the same
/// bits as the instruction's, behind the comment "emulated OPCODE". docs/builder.md lists the fallbacks.
namespace [[gnu::visibility("default")]] ptxloom {
/// Fallbacks for instructions that a target lacks.
namespace lower {

/// How a target gets an instruction.
enum class Support {
  none,      ///< not at all
  emulated,  ///< by a fallback
  native,    ///< the target has it
};

/// "native", "emulated" or "none".
std::string_view to_string(Support support);

/// How the target gets an opcode that is written in full. `emulated` means that the target has every
/// instruction of the fallback.
Support support(const Specs& specs, std::string_view opcode, const Target& target);

/// As BuilderCore::op, with the fallback where the target lacks the instruction. Throws Error(illegal_ptx),
/// as BuilderCore::op does, where there is no fallback either; the message says so. A fallback takes
/// registers only: Error(usage, "operand-count" or "operand-type").
///@{
Reg op(KernelBuilder& k, const Opcode& opcode, std::initializer_list<Arg> args);
Reg op(KernelBuilder& k, const Opcode& opcode, const std::convertible_to<Arg> auto&... args) {
  return op(k, opcode, {Arg(args)...});
}
///@}

}  // namespace lower
}  // namespace ptxloom
