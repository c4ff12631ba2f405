// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "check/rules.hpp"
#include "ir/naming.hpp"

namespace ptxloom::check_rules {
namespace {

// The declared type of a variable or parameter.
std::string_view declared_type(const Scope& scope, std::string_view name) {
  for (const ir::Parameter& parameter : scope.kernel.parameters)
    if (parameter.name == name) return parameter.type.name;
  const ir::Variable* const variable = scope.of_module.variable(name);
  return variable == nullptr ? std::string_view() : variable->type.name;
}

void check_opaque(const Scope& scope, const ir::Instruction& instruction, const OperandSpec& place,
                  std::string_view name, Diagnostics& out) {
  if (place.kind != OperandSpec::Kind::address || !ir::is_opaque(place.space)) return;
  const std::string_view type = declared_type(scope, name);
  if (type == place.space) return;
  if (place.space == "tensormap" && !ir::is_opaque(type))
    return;  // its 128 bytes may be part of any
             // variable
  out.push_back(located(instruction, {.code = "operand-type",
                                      .message = "operand " + place.name + " takes a ." + place.space +
                                                 ", which " + std::string(name) + " is not" +
                                                 (type.empty() ? "" : ": it is a ." + std::string(type)),
                                      .hint = "declare .global ." + place.space + " " + std::string(name)}));
}

void check_unified(const Scope& scope, const ir::Instruction& instruction, const OperandSpec& place,
                   std::string_view name, Diagnostics& out) {
  for (const ir::Variable& variable : scope.module.variables)
    if (variable.name == name && variable.unified) return;
  out.push_back(
      located(instruction, {.code = "operand-type",
                            .message = "operand " + place.name + " takes a variable that is .unified, " +
                                       "which " + std::string(name) + " is not",
                            .hint = "declare it with .attribute(.unified(first, second))"}));
}

// The address of a function may be called. That of a kernel cannot be, and its parameters have any type.
void check_function_address(const Scope& scope, const ir::Instruction& instruction, std::string_view name,
                            Diagnostics& out) {
  const ir::Function* const function = scope.of_module.function(name);
  if (function == nullptr || function->entry) return;
  if (auto refused = check_convention(scope.module, *function, "is called by its address"))
    out.push_back(located(instruction, std::move(*refused)));
}

void check_symbol(const Scope& scope, const ir::Instruction& instruction, const OperandSpec& place,
                  const ir::Operand& operand, Diagnostics& out) {
  if (operand.index >= scope.kernel.symbols.size()) return;  // reported by check_operands
  const auto& [name, space] = scope.kernel.symbols[operand.index];
  if (space == ir::Space::code) check_function_address(scope, instruction, name, out);
  if (place.kind == OperandSpec::Kind::address && place.variables == "unified")
    return check_unified(scope, instruction, place, name, out);
  if (scope.declares(name)) return check_opaque(scope, instruction, place, name, out);
  out.push_back(located(instruction,
                        {.code = "undefined-name",
                         .message = "operand " + place.name + ": there is no variable or parameter " + name,
                         .hint = "declare a parameter or variable of this name"}));
}

}  // namespace

void check_symbols(const Scope& scope, const ir::Instruction& instruction, Diagnostics& out) {
  const std::span<const OperandSpec> places = instruction.variant.operands();
  const std::span<const ir::Operand> operands = scope.kernel.operands_of(instruction);
  for (std::size_t i = 0; i < std::min(places.size(), operands.size()); ++i) {
    const ir::Operand::Kind kind = operands[i].kind;
    if (kind == ir::Operand::Kind::symbol || kind == ir::Operand::Kind::address_symbol)
      check_symbol(scope, instruction, places[i], operands[i], out);
  }
}

}  // namespace ptxloom::check_rules
