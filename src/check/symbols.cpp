// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "check/rules.hpp"
#include "ir/naming.hpp"

namespace ptxloom::check_rules {
namespace {

void check_symbol(const Scope& scope, const ir::Instruction& instruction, const OperandSpec& place,
                  const ir::Operand& operand, Diagnostics& out) {
  if (operand.index >= scope.kernel.symbols.size()) return;  // said by check_operands
  if (ir::space_of(scope.kernel, operand.index) != ir::SymbolSpace::elsewhere) return;
  const std::string& name = scope.kernel.symbols[operand.index];
  const auto found = scope.globals.find(name);
  if (found == scope.globals.end()) {
    out.push_back(located(instruction, {.code = "undefined-name",
                                        .message = "operand " + place.name + ": nothing is called " + name,
                                        .hint = "declare a parameter or a variable of this name"}));
    return;
  }
  const auto space = static_cast<ir::SymbolSpace>(found->second->space);
  if (place.kind != OperandSpec::Kind::address || ir::space_fits(place.space, space)) return;
  out.push_back(located(
      instruction,
      {.code = "address-space",
       .message = "operand " + place.name + " is [" + ir::text_of(scope.kernel, operand) +
                  "], but takes an address in " + (place.space.empty() ? "generic" : "." + place.space) +
                  " state space, where " + name + " is not",
       .hint = "use the instruction for the variable's state space"}));
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
