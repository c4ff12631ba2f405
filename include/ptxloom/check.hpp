// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/ir.hpp"

/// \file
/// Checks whether PTX is legal for a target. Opcode and operands choose the variants of a form; small rules
/// that the specs' tables cannot express follow, one file each in src/check. The verdict is that of ptxas.
/// Checking returns diagnostics and throws nothing for illegal PTX; docs/diagnostics.md lists their codes.
namespace [[gnu::visibility("default")]] ptxloom {

/// Checks operands against the places of a variant. The diagnostic names the first operand that does not fit,
/// and what would fit; nullopt: all fit. A warning says that they fit, although the PTX ISA does not promise
/// it. `kernel` holds the registers and vector elements that the operands refer to.
std::optional<Diagnostic> check_operands(const ir::Kernel& kernel, Variant variant,
                                         std::span<const ir::Operand> operands);

/// The variant that an opcode and its operands mean.
struct Resolution {
  Variant variant;                       ///< none if no candidate fits
  std::optional<Diagnostic> diagnostic;  ///< an error if there is none, or a warning: it is undocumented
};
/// The first of `candidates`, all that Specs::match returns for an opcode, that is on the target and that
/// these operands fit; an undocumented one only if no other does. If none fits, the diagnostic names the
/// operand that is wrong, or the targets that have the variant. With `specs` its hint lists opcodes that
/// would take the operands.
Resolution resolve(const ir::Kernel& kernel, std::span<const Variant> candidates,
                   std::span<const ir::Operand> operands, const Target& target, const Specs* specs = nullptr);

/// Checks a module, with every instruction, against its target and PTX version. Lines are those of the text
/// that the module was read from. Empty: it is legal.
std::vector<Diagnostic> check(const ir::Module& module);

/// What a legal module takes: the lowest PTX version that has all its instructions on its target, and what
/// reads and loads that. Throws Error(usage, "unknown-target").
Requirement requirement_of(const ir::Module& module);

/// Statements of a kernel's body, without the kernel around them.
struct Snippet {
  std::string_view ptx;  ///< the statements
  /// Declarations that precede them, such as ".reg .b32 a, b;". Parameters of the kernel come first, in
  /// parentheses: "(.param .b16 p) .reg .b16 h;".
  std::string_view declarations;
  std::string_view target;                  ///< "sm_90a"
  Version version = default_ptx_version();  ///< of PTX
};
/// Reads and checks the statements. Lines and columns count from 1 within `ptx`. An error elsewhere, in the
/// declarations or the target, has line 0.
std::vector<Diagnostic> check(const Snippet& snippet, const std::shared_ptr<const Specs>& specs);

}  // namespace ptxloom
