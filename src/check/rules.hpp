// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir/fit.hpp"
#include "ptxloom/by_variant.hpp"

// What check(module) consists of: one function for each rule that the tables of a form cannot say, each in a
// file of its own. A rule appends what it finds wrong.
namespace ptxloom::check_rules {

using Diagnostics = std::vector<Diagnostic>;

/// What the module makes of a variant.
struct Standing {
  std::span<const OperandSpec> places;
  std::optional<Version> since;  ///< on the target
  bool usual = false;            ///< documented, in this version, and with any option: nothing to say of it
};

/// A kernel in its module, and everything that a symbol of it can name.
struct Scope {
  const ir::Module& module;
  const ir::Kernel& kernel;
  const Target& target;
  std::unordered_set<std::string_view> names;
};

/// The target is known, and the module's version has it.
std::optional<Target> check_target(const ir::Module& module, Diagnostics& out);
/// Every index of the kernel points into its own vectors: all other rules rely on it.
bool check_indices(const ir::Kernel& kernel, Diagnostics& out);
/// No name is declared twice.
void check_module_names(const ir::Module& module, Diagnostics& out);
void check_kernel_names(const Scope& scope, Diagnostics& out);
/// Labels stand once. The answer says of each whether it stands somewhere, as those that are jumped to must.
std::vector<bool> check_labels(const Scope& scope, Diagnostics& out);
void check_jump(const Scope& scope, const ir::Instruction& instruction, const std::vector<bool>& placed,
                Diagnostics& out);
Standing standing_of(const ir::Module& module, const Target& target, Variant variant);
/// The variant is on the target and in the module's version, its operands fit, the guard is a predicate.
void check_instruction(const Scope& scope, const ir::Instruction& instruction, const Standing& standing,
                       Diagnostics& out);
/// Variables that operands name exist.
void check_symbols(const Scope& scope, const ir::Instruction& instruction, Diagnostics& out);
/// Parameters are read, results written.
void check_parameters(const Scope& scope, const ir::Instruction& instruction, Diagnostics& out);
/// Variables that operands name are as aligned as the access needs (a warning).
void check_alignment(const Scope& scope, const ir::Instruction& instruction, Diagnostics& out);

/// What a call passes fits what it calls.
void check_call(const Scope& scope, const ir::Call& call, Diagnostics& out);
/// Functions are declared alike each time, and aliases can stand for what they name.
void check_functions(const ir::Module& module, Diagnostics& out);
/// Constants and parameters are no larger than PTX allows.
void check_limits(const ir::Module& module, Diagnostics& out);
/// Variables, registers and parameters are of types that can be declared.
void check_storage(const ir::Module& module, Diagnostics& out);
/// What an entry declares in .shared is no more than the target takes.
void check_shared_size(const ir::Module& module, const Target& target, Diagnostics& out);
/// Blocks and clusters that a kernel asks for are such as a launch can have.
void check_launch_bounds(const ir::Module& module, const Target& target, Diagnostics& out);
/// No directives of a kernel exclude each other.
void check_directives(const Scope& scope, Diagnostics& out);
/// No `.aligned` instruction stands under a predicate that may differ along the warp (a warning).
void check_divergence(const Scope& scope, Diagnostics& out);

/// Puts the opcode before the message, and the line of the instruction.
Diagnostic located(const ir::Instruction& instruction, Diagnostic diagnostic);

}  // namespace ptxloom::check_rules
