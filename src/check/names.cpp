// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>

#include "check/rules.hpp"
#include "ir/naming.hpp"

namespace ptxloom::check_rules {
namespace {

// Names declared so far in a scope.
class Names {
 public:
  Names(std::string where, Diagnostics& out) : where_(std::move(where)), out_(out) {}

  void declare(const std::string& name) {
    if (seen_.insert(name).second) return;
    out_.push_back({.code = "duplicate-name",
                    .message = where_ + name + " is declared twice",
                    .hint = "give one of them another name"});
  }

 private:
  std::string where_;
  Diagnostics& out_;
  std::unordered_set<std::string> seen_;
};

// Unnamed registers are checked by class and number, which is cheaper than by generated names.
void check_numbers(const ir::Kernel& kernel, Diagnostics& out) {
  std::array<std::vector<bool>, ir::kRegisterClasses.size()> used;
  for (const ir::RegisterDecl& decl : kernel.registers) {
    if (!decl.name.empty()) continue;
    std::vector<bool>& numbers = used[ir::register_class(decl.type)];
    if (decl.number >= numbers.size())
      numbers.resize(std::max<std::size_t>(decl.number + 1, 2 * numbers.size()));
    if (numbers[decl.number])
      out.push_back({.code = "duplicate-name",
                     .message = "kernel " + kernel.name + ": " + ir::name_of(decl) + " is declared twice",
                     .hint = "number the registers of a class from 0 on"});
    numbers[decl.number] = true;
  }
}

// The label that a statement places.
std::optional<std::uint32_t> label_of(const ir::Kernel& kernel, const ir::Statement& statement) {
  switch (statement.kind) {
    case ir::Statement::Kind::label:
      return statement.index;
    case ir::Statement::Kind::targets:
      return kernel.targets[statement.index].label;
    case ir::Statement::Kind::prototype:
      return kernel.prototypes[statement.index].label;
    default:
      return std::nullopt;
  }
}

}  // namespace

void check_module_names(const ir::Module& module, Diagnostics& out) {
  Names names("", out);
  for (const ir::Variable& variable : module.variables)
    if (variable.linkage != ir::Linkage::external)
      names.declare(variable.name);  // external ones may be
                                     // repeated
  for (const ir::Function& function : module.functions)
    if (function.defined) names.declare(function.name);
}

void check_kernel_names(const Scope& scope, Diagnostics& out) {
  const ir::Kernel& kernel = scope.kernel;
  Names names("kernel " + kernel.name + ": ", out);
  for (const auto* parameters : {&kernel.results, &kernel.parameters})
    for (const ir::Parameter& parameter : *parameters)
      if (!parameter.reg) names.declare(parameter.name);  // otherwise it is a register
  for (const ir::Variable& variable : kernel.variables) names.declare(variable.name);
  for (const ir::RegisterDecl& decl : kernel.registers)
    if (!decl.name.empty()) names.declare(decl.name);
  check_numbers(kernel, out);
}

// A list of targets must precede the jumps that use it, and a prototype the calls.
void check_lists(const Scope& scope, Diagnostics& out) {
  const ir::Kernel& kernel = scope.kernel;
  if (kernel.targets.empty() && kernel.prototypes.empty()) return;
  std::vector<bool> ahead(kernel.labels.size());
  for (const ir::Targets& targets : kernel.targets) ahead[targets.label] = true;
  for (const ir::Prototype& prototype : kernel.prototypes) ahead[prototype.label] = true;
  const auto use = [&](std::uint32_t label, std::uint32_t line, std::uint32_t column) {
    if (label < ahead.size() && ahead[label])
      out.push_back(
          {.code = "undefined-label",
           .message = "the list or prototype " + kernel.labels[label] + " is declared after its use",
           .hint = "declare it before",
           .line = static_cast<int>(line),
           .column = static_cast<int>(column)});
  };
  for (const ir::Statement& statement : kernel.body) {
    if (const auto label = label_of(kernel, statement)) ahead[*label] = false;
    if (statement.kind == ir::Statement::Kind::call) {
      const ir::Call& call = kernel.calls[statement.index];
      if (call.targets) use(*call.targets, call.line, call.column);
    } else if (statement.kind == ir::Statement::Kind::instruction) {
      const ir::Instruction& instruction = kernel.instructions[statement.index];
      for (const ir::Operand& operand : kernel.operands_of(instruction))
        if (operand.kind == ir::Operand::Kind::label)
          use(operand.index, instruction.line, instruction.column);
    }
  }
}

std::vector<bool> check_labels(const Scope& scope, Diagnostics& out) {
  const ir::Kernel& kernel = scope.kernel;
  check_lists(scope, out);
  std::vector<bool> placed(kernel.labels.size());
  std::vector<bool> twice(kernel.labels.size());
  for (const ir::Statement& statement : kernel.body) {
    const auto label = label_of(kernel, statement);
    if (!label) continue;
    if (placed[*label] && !twice[*label])
      out.push_back(
          {.code = "duplicate-name",
           .message = "kernel " + kernel.name + ": the label " + kernel.labels[*label] + " is placed twice",
           .hint = "give one of them another name"});
    twice[*label] = placed[*label];
    placed[*label] = true;
  }
  return placed;
}

void check_jump(const Scope& scope, const ir::Instruction& instruction, const std::vector<bool>& placed,
                Diagnostics& out) {
  const ir::Kernel& kernel = scope.kernel;
  for (const ir::Operand& operand : kernel.operands_of(instruction))
    if (operand.kind == ir::Operand::Kind::label && operand.index < placed.size() && !placed[operand.index])
      out.push_back(located(
          instruction, {.code = "undefined-label",
                        .message = "the label " + kernel.labels[operand.index] + " is not placed anywhere",
                        .hint = "place it in the kernel"}));
}

}  // namespace ptxloom::check_rules
