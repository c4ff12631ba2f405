// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "ptxloom/builder.hpp"

/// \file
/// Fallbacks: instructions that a target lacks, made of those that it has. `lower::op`, `ops` and `emit`
/// append the instruction itself where the target has it. Elsewhere they append the fallback, whose results
/// have the same bits as the instruction's, behind the comment "emulated OPCODE". docs/builder.md lists the
/// fallbacks.
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

/// How the target gets an opcode that is written in full, or a variant of it: `min.f32` has one with two
/// operands and one with three. `emulated` means that the target has every instruction of the fallback.
///@{
Support support(const Specs& specs, std::string_view opcode, const Target& target);
Support support(const Specs& specs, const Variant& variant, const Target& target);
///@}

/// As BuilderCore::op, ops and emit, with the fallback where the target lacks the instruction. Throws
/// Error(illegal_ptx), as they do, where there is no fallback either; the message says so. The operands of a
/// fallback are registers, vectors of registers and integers, and addresses: Error(usage, "operand-count" or
/// "operand-type"). All are read before a result is written.
///@{
Reg op(KernelBuilder& k, const Opcode& opcode, std::initializer_list<Arg> args);
Reg op(KernelBuilder& k, const Opcode& opcode, const std::convertible_to<Arg> auto&... args) {
  return op(k, opcode, {Arg(args)...});
}
std::vector<Reg> ops(KernelBuilder& k, const Opcode& opcode, std::initializer_list<Arg> args);
std::vector<Reg> ops(KernelBuilder& k, const Opcode& opcode, const std::convertible_to<Arg> auto&... args) {
  return ops(k, opcode, {Arg(args)...});
}
void emit(KernelBuilder& k, const Opcode& opcode, std::initializer_list<Arg> args);
void emit(KernelBuilder& k, const Opcode& opcode, const std::convertible_to<Arg> auto&... args) {
  emit(k, opcode, {Arg(args)...});
}
///@}

}  // namespace lower
}  // namespace ptxloom
