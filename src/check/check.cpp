// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/check.hpp"

#include "check/rules.hpp"

namespace ptxloom {
namespace check_rules {

Diagnostic located(const ir::Instruction& instruction, Diagnostic diagnostic) {
  diagnostic.message = std::string(instruction.variant.opcode()) + ": " + diagnostic.message;
  diagnostic.line = static_cast<int>(instruction.line);
  diagnostic.column = static_cast<int>(instruction.column);
  return diagnostic;
}

}  // namespace check_rules

std::vector<Diagnostic> check(const ir::Module& module) {
  using namespace check_rules;
  Diagnostics found;
  const std::optional<Target> target = check_target(module, found);
  check_module_names(module, found);
  if (!target) return found;
  for (const ir::Kernel& kernel : module.kernels) {
    if (!check_indices(kernel, found)) continue;
    Scope scope{.module = module, .kernel = kernel, .target = *target, .globals = {}};
    for (const ir::Variable& variable : module.variables) scope.globals.emplace(variable.name, &variable);
    check_kernel_names(scope, found);
    check_labels(scope, found);
    for (const ir::Instruction& instruction : kernel.instructions) {
      check_instruction(scope, instruction, found);
      check_symbols(scope, instruction, found);
    }
  }
  return found;
}

}  // namespace ptxloom
