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

namespace {

std::unordered_set<std::string_view> names_of(const ir::Kernel& kernel) {
  std::unordered_set<std::string_view> names;
  for (const ir::Variable& variable : kernel.variables) names.insert(variable.name);
  for (const ir::Parameter& parameter : kernel.parameters) names.insert(parameter.name);
  for (const ir::Parameter& result : kernel.results) names.insert(result.name);
  return names;
}

using Kind = ir::Operand::Kind;

// What the operands of an instruction name. Most name nothing, and then most rules do not apply.
struct Naming {
  bool symbol = false, label = false;
};
Naming naming_of(const ir::Kernel& kernel, const ir::Instruction& instruction) {
  Naming naming;
  for (const ir::Operand& operand : kernel.operands_of(instruction)) {
    naming.symbol |= operand.kind == Kind::symbol || operand.kind == Kind::address_symbol;
    naming.label |= operand.kind == Kind::label;
  }
  return naming;
}

}  // namespace
}  // namespace check_rules

std::vector<Diagnostic> check(const ir::Module& module) {
  using namespace check_rules;
  Diagnostics found;
  const std::optional<Target> target = check_target(module, found);
  check_module_names(module, found);
  const ModuleNames names(module);
  check_functions(module, names, found);
  check_debug(module, found);
  check_limits(module, found);
  check_storage(module, found);
  if (!target) return found;
  check_shared_size(module, *target, found);
  check_launch_bounds(module, *target, found);
  check_directive_needs(module, *target, found);
  ByVariant<Standing> standings;
  const auto standing = [&](Variant variant) { return standing_of(module, *target, variant); };
  for (const ir::Kernel& kernel : module.functions) {
    if (!check_indices(kernel, found)) continue;
    const Scope scope{
        .module = module, .kernel = kernel, .target = *target, .of_module = names, .own = names_of(kernel)};
    check_kernel_names(scope, found);
    check_directives(scope, found);
    const std::vector<bool> placed = check_labels(scope, found);
    for (const ir::Instruction& instruction : kernel.instructions) {
      const Naming naming = naming_of(kernel, instruction);
      if (naming.label) check_jump(scope, instruction, placed, found);
      const std::size_t before = found.size();
      const Standing& as = standings.of(instruction.variant, standing);
      check_instruction(scope, instruction, as, found);
      if (as.directive) check_required_directive(scope, instruction, found);
      if (!naming.symbol) continue;
      check_symbols(scope, instruction, found);
      check_parameters(scope, instruction, found);
      if (found.size() == before) check_alignment(scope, instruction, found);
    }
    for (const ir::Call& call : kernel.calls) check_call(scope, call, found);
    check_call_results(scope, found);
    check_divergence(scope, found);
  }
  return found;
}

}  // namespace ptxloom
