// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "check/module_names.hpp"
#include "ir/fit.hpp"
#include "ptxloom/by_variant.hpp"

// The parts of check(module): one function for each rule that the tables of a form cannot express, each in
// its own file. A rule appends its findings.
namespace ptxloom::check_rules {

using Diagnostics = std::vector<Diagnostic>;

/// The status of a variant in the module.
struct Standing {
  std::span<const OperandSpec> places;
  std::optional<Version> since;  ///< on the target
  bool usual = false;            ///< documented, in this version, and valid with any option: nothing to
                                 ///< report if the operands fit
  bool directive = false;        ///< a kernel needs a directive to have it
};

/// A kernel in its module, and everything that its symbols can name.
struct Scope {
  const ir::Module& module;
  const ir::Kernel& kernel;
  const Target& target;
  const ModuleNames& of_module;
  std::unordered_set<std::string_view> own;  ///< names that the kernel declares

  bool declares(std::string_view name) const { return own.contains(name) || of_module.contains(name); }
};

/// The target is known, and exists in the module's version.
std::optional<Target> check_target(const ir::Module& module, Diagnostics& out);
/// Every index of the kernel is within its vectors: all other rules rely on that.
bool check_indices(const ir::Kernel& kernel, Diagnostics& out);
/// No name is declared twice.
void check_module_names(const ir::Module& module, Diagnostics& out);
void check_kernel_names(const Scope& scope, Diagnostics& out);
/// Labels are unique. Returns for each label whether it is placed, as jump targets must be.
std::vector<bool> check_labels(const Scope& scope, Diagnostics& out);
void check_jump(const Scope& scope, const ir::Instruction& instruction, const std::vector<bool>& placed,
                Diagnostics& out);
Standing standing_of(const ir::Module& module, const Target& target, Variant variant);
/// The variant exists on the target and in the module's version, its operands fit, the guard is a predicate.
void check_instruction(const Scope& scope, const ir::Instruction& instruction, const Standing& standing,
                       Diagnostics& out);
/// Variables named by operands exist.
void check_symbols(const Scope& scope, const ir::Instruction& instruction, Diagnostics& out);
/// Parameters are only read, results only written.
void check_parameters(const Scope& scope, const ir::Instruction& instruction, Diagnostics& out);
/// A .param variable for calls is read only behind a call, in the order of the text, that returns it.
void check_call_results(const Scope& scope, Diagnostics& out);
/// Variables named by operands are aligned as the access requires (a warning).
void check_alignment(const Scope& scope, const ir::Instruction& instruction, Diagnostics& out);

/// The calling convention has the types that a function takes and returns that "is called", or whose use is
/// another.
std::optional<Diagnostic> check_convention(const ir::Module& module, const ir::Interface& callee,
                                           const std::string& use);
/// The arguments and results of a call fit the callee.
void check_call(const Scope& scope, const ir::Call& call, Diagnostics& out);
/// Functions are declared consistently, and aliases can stand for their target.
void check_functions(const ir::Module& module, const ModuleNames& names, Diagnostics& out);
/// Debug information is there where it is announced, and names places that exist.
void check_debug(const ir::Module& module, Diagnostics& out);
/// Constants and parameters do not exceed PTX's limits.
void check_limits(const ir::Module& module, Diagnostics& out);
/// Variables, registers and parameters have types that can be declared.
void check_storage(const ir::Module& module, Diagnostics& out);
/// The .shared memory of an entry fits the target.
void check_shared_size(const ir::Module& module, const Target& target, Diagnostics& out);
/// A launch can have the thread block and cluster shapes that a kernel requires.
void check_launch_bounds(const ir::Module& module, const Target& target, Diagnostics& out);
/// Directives of a kernel do not exclude each other.
void check_directives(const Scope& scope, Diagnostics& out);
/// The target and the module's version have the directives, and the pragmas are where they may be.
void check_directive_needs(const ir::Module& module, const Target& target, Diagnostics& out);
/// A kernel has the directive that a special register needs.
void check_required_directive(const Scope& scope, const ir::Instruction& instruction, Diagnostics& out);
/// No `.aligned` instruction is under a predicate that may diverge within the warp (a warning).
void check_divergence(const Scope& scope, Diagnostics& out);

/// Prefixes the message with the opcode, and adds the instruction's line.
Diagnostic located(const ir::Instruction& instruction, Diagnostic diagnostic);

}  // namespace ptxloom::check_rules
