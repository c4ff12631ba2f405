// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "check/rules.hpp"

namespace ptxloom::check_rules {
namespace {

bool in_bounds(const ir::Kernel& kernel, const ir::Statement& statement) {
  switch (statement.kind) {
    case ir::Statement::Kind::instruction:
      return statement.index < kernel.instructions.size();
    case ir::Statement::Kind::label:
      return statement.index < kernel.labels.size();
    case ir::Statement::Kind::comment:
      return statement.index < kernel.comments.size();
    case ir::Statement::Kind::pragma:
      return statement.index < kernel.pragmas.size();
    case ir::Statement::Kind::call:
      return statement.index < kernel.calls.size();
    case ir::Statement::Kind::targets:
      return statement.index < kernel.targets.size();
    case ir::Statement::Kind::prototype:
      return statement.index < kernel.prototypes.size();
    case ir::Statement::Kind::location:
      return statement.index < kernel.locations.size();
  }
  return false;
}

bool in_bounds(const ir::Kernel& kernel, const std::optional<ir::Guard>& guard) {
  return !guard || guard->reg.id < kernel.registers.size();
}

bool in_bounds(const ir::Kernel& kernel, std::size_t first, std::size_t count) {
  const std::size_t operands = kernel.operands.size();
  return first <= operands && count <= operands - first;
}

bool in_bounds(const ir::Kernel& kernel, const ir::Instruction& instruction) {
  return instruction.variant && in_bounds(kernel, instruction.first_operand, instruction.operand_count) &&
         in_bounds(kernel, instruction.guard);
}

// What a call names: its callee, arguments or results.
bool in_bounds(const ir::Kernel& kernel, const ir::Operand& named) {
  if (named.kind == ir::Operand::Kind::reg) return named.index < kernel.registers.size();
  return named.kind != ir::Operand::Kind::symbol || named.index < kernel.symbols.size();
}

bool in_bounds(const ir::Kernel& kernel, const ir::Call& call) {
  const std::size_t passed = std::size_t{call.result_count} + call.argument_count;
  if (!in_bounds(kernel, call.first_operand, passed) || !in_bounds(kernel, call.callee)) return false;
  const std::span<const ir::Operand> operands(kernel.operands.data() + call.first_operand, passed);
  return std::all_of(operands.begin(), operands.end(),
                     [&](const ir::Operand& operand) { return in_bounds(kernel, operand); }) &&
         in_bounds(kernel, call.guard) && (!call.targets || *call.targets < kernel.labels.size());
}

bool in_bounds(const ir::Kernel& kernel, const ir::Prototype& prototype) {
  return prototype.label < kernel.labels.size();
}

bool in_bounds(const ir::Kernel& kernel, const ir::Targets& targets) {
  const bool branch = targets.kind == ir::Targets::Kind::branch;
  const std::size_t names = branch ? kernel.labels.size() : kernel.symbols.size();
  return targets.label < kernel.labels.size() &&
         std::all_of(
             targets.names.begin(), targets.names.end(), [&](std::uint32_t name) { return name < names; });
}

}  // namespace

bool check_indices(const ir::Kernel& kernel, Diagnostics& out) {
  const auto fine = [&](const auto& items) {
    return std::all_of(items.begin(), items.end(), [&](const auto& item) { return in_bounds(kernel, item); });
  };
  if (fine(kernel.body) && fine(kernel.instructions) && fine(kernel.calls) && fine(kernel.targets) &&
      fine(kernel.prototypes))
    return true;
  out.push_back({.code = "broken-ir",
                 .message = "kernel " + kernel.name + ": an index is outside its vector",
                 .hint = "make kernels with KernelBuilder or parse"});
  return false;
}

}  // namespace ptxloom::check_rules
