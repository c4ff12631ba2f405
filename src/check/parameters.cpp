// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <unordered_set>

#include "check/rules.hpp"

// How .param may be used: a function reads its parameters and writes its results; a .param variable for a
// call has no address, and no guard decides whether it is read or written.
namespace ptxloom::check_rules {
namespace {

using Kind = ir::Operand::Kind;

template <class List>
bool has(const List& list, std::string_view name) {
  return std::any_of(list.begin(), list.end(), [&](const auto& declared) { return declared.name == name; });
}

bool is_for_calls(const ir::Kernel& kernel, std::string_view name) {
  return std::any_of(kernel.variables.begin(), kernel.variables.end(), [&](const ir::Variable& variable) {
    return variable.space == ir::Space::function && variable.name == name;
  });
}

// A load has a destination, a store a value, a prefetch neither.
bool loads(std::span<const OperandSpec> places) {
  return std::any_of(places.begin(), places.end(),
                     [](const OperandSpec& place) { return place.direction == OperandSpec::Direction::out; });
}
bool stores(std::span<const OperandSpec> places) {
  return !loads(places) && std::any_of(places.begin(), places.end(), [](const OperandSpec& place) {
    return place.kind == OperandSpec::Kind::value;
  });
}

}  // namespace

void check_parameters(const Scope& scope, const ir::Instruction& instruction, Diagnostics& out) {
  const ir::Kernel& kernel = scope.kernel;
  const std::span<const OperandSpec> places = instruction.variant.operands();
  const std::span<const ir::Operand> operands = kernel.operands_of(instruction);
  const auto add = [&](const std::string& message, std::string hint) {
    out.push_back(
        located(instruction, {.code = "parameter-direction", .message = message, .hint = std::move(hint)}));
  };
  for (std::size_t i = 0; i < std::min(places.size(), operands.size()); ++i) {
    const ir::Operand& operand = operands[i];
    const bool address = operand.kind == Kind::address_symbol;
    if (places[i].any_class) continue;  // ptxas does not check it
    if ((!address && operand.kind != Kind::symbol) || operand.index >= kernel.symbols.size()) continue;
    const std::string& name = kernel.symbols[operand.index].name;
    if (address && stores(places) && has(kernel.parameters, name))
      add("writes the parameter " + name, "parameters can only be read");
    if (address && loads(places) && has(kernel.results, name))
      add("reads the result " + name, "results can only be written");
    if (!address && is_for_calls(kernel, name))
      add("takes the address of " + name + ", which is a .param variable for calls", "use a .local variable");
    if (address && instruction.guard && is_for_calls(kernel, name))
      out.push_back(
          located(instruction, {.code = "guarded-argument",
                                .message = "has a guard, but " + name + " is a .param variable for calls",
                                .hint = "leave out the guard, or branch around the call"}));
  }
}

void check_call_results(const Scope& scope, Diagnostics& out) {
  const ir::Kernel& kernel = scope.kernel;
  std::unordered_set<std::string_view> open;  // those for calls that no call has returned yet
  for (const ir::Variable& variable : kernel.variables)
    if (variable.space == ir::Space::function) open.insert(variable.name);
  if (open.empty()) return;
  for (const ir::Statement& statement : kernel.body) {
    if (statement.kind == ir::Statement::Kind::call) {
      for (const ir::Operand& result : kernel.results_of(kernel.calls[statement.index]))
        if (result.kind == Kind::symbol) open.erase(kernel.symbols[result.index].name);
    }
    if (statement.kind != ir::Statement::Kind::instruction) continue;
    const ir::Instruction& instruction = kernel.instructions[statement.index];
    if (!loads(instruction.variant.operands())) continue;
    for (const ir::Operand& operand : kernel.operands_of(instruction)) {
      if (operand.kind != Kind::address_symbol) continue;
      const std::string& name = kernel.symbols[operand.index].name;
      if (open.contains(name))
        out.push_back(located(instruction, {.code = "call-result",
                                            .message = "reads " + name + ", which no call before it returns",
                                            .hint = "read it after the call, or use a .local variable"}));
    }
  }
}

}  // namespace ptxloom::check_rules
