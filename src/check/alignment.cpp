// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "check/rules.hpp"
#include "ir/naming.hpp"

namespace ptxloom::check_rules {
namespace {

/// The bytes that a memory access moves at once; 0 if unknown. The value is the operand whose register may be
/// wider than the data in memory.
std::uint64_t access_size(std::span<const OperandSpec> places) {
  std::uint64_t size = 0;
  for (const OperandSpec& place : places) {
    if (place.kind != OperandSpec::Kind::value || !place.wider_allowed) continue;
    if (size != 0) return 0;
    size =
        static_cast<std::uint64_t>(place.type.whole_bytes()) * static_cast<std::uint64_t>(place.registers());
  }
  return size;
}

/// The alignment of a parameter or variable; 0 if the name is not declared here.
std::uint64_t alignment_of(const Scope& scope, std::string_view name) {
  const auto of = [](const auto& declared) {
    if (declared.alignment != 0) return std::uint64_t{declared.alignment};
    return static_cast<std::uint64_t>(declared.type.whole_bytes());
  };
  for (const ir::Variable& variable : scope.kernel.variables)
    if (variable.name == name) return of(variable);
  for (const ir::Variable& variable : scope.module.variables)
    if (variable.name == name) return of(variable);
  for (const ir::Parameter& parameter : scope.kernel.parameters)  // for a pointer, the alignment of what it
                                                                  // points to
    if (parameter.name == name) return parameter.pointer ? 8 : of(parameter);
  return 0;
}

}  // namespace

void check_alignment(const Scope& scope, const ir::Instruction& instruction, Diagnostics& out) {
  const std::span<const OperandSpec> places = instruction.variant.operands();
  const std::span<const ir::Operand> operands = scope.kernel.operands_of(instruction);
  for (std::size_t i = 0; i < std::min(places.size(), operands.size()); ++i) {
    const ir::Operand& operand = operands[i];
    if (places[i].kind != OperandSpec::Kind::address || operand.kind != ir::Operand::Kind::address_symbol)
      continue;
    if (operand.index >= scope.kernel.symbols.size()) continue;  // reported by check_operands
    const std::uint64_t size = access_size(places);
    const std::uint64_t base = size > 1 ? alignment_of(scope, scope.kernel.symbols[operand.index].name) : 0;
    if (base == 0) continue;
    const bool offset_fits = operand.value % static_cast<std::int64_t>(size) == 0;
    if (base % size == 0 && offset_fits) continue;
    out.push_back(located(
        instruction, {.severity = Severity::warning,
                      .code = "misaligned-address",
                      .message = "operand " + places[i].name + " is [" + ir::text_of(scope.kernel, operand) +
                                 "], of which " + std::to_string(size) + " bytes are accessed at once, but " +
                                 (offset_fits ? "the variable is aligned to " + std::to_string(base) + " only"
                                              : "its offset is not a multiple of that"),
                      .hint = offset_fits ? "declare it with .align " + std::to_string(size)
                                          : "access it in smaller parts"}));
  }
}

}  // namespace ptxloom::check_rules
