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
  }
  return false;
}

bool in_bounds(const ir::Kernel& kernel, const ir::Instruction& instruction) {
  const std::size_t operands = kernel.operands.size();
  if (!instruction.variant || instruction.first_operand > operands) return false;
  if (instruction.operand_count > operands - instruction.first_operand) return false;
  return !instruction.guard || instruction.guard->reg.id < kernel.registers.size();
}

}  // namespace

bool check_indices(const ir::Kernel& kernel, Diagnostics& out) {
  const auto fine = [&](const auto& item) { return in_bounds(kernel, item); };
  if (std::all_of(kernel.body.begin(), kernel.body.end(), fine) &&
      std::all_of(kernel.instructions.begin(), kernel.instructions.end(), fine))
    return true;
  out.push_back({.code = "broken-ir",
                 .message = "kernel " + kernel.name + ": an index points outside of its vector",
                 .hint = "make kernels with KernelBuilder or parse"});
  return false;
}

}  // namespace ptxloom::check_rules
