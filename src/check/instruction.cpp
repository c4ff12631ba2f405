// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "check/nearest.hpp"
#include "check/operands.hpp"
#include "check/rules.hpp"
#include "ir/naming.hpp"
#include "ptxloom/check.hpp"
#include "spec/database.hpp"
#include "spec/mode.hpp"

namespace ptxloom::check_rules {
namespace {

void check_guard(const Scope& scope, const ir::Instruction& instruction, Diagnostics& out) {
  if (!instruction.guard) return;
  const ir::RegisterDecl& decl = scope.kernel.registers[instruction.guard->reg.id];
  if (decl.type.kind == TypeKind::predicate) return;
  out.push_back(
      located(instruction, {.code = "operand-type",
                            .message = "the guard @" + ir::name_of(decl) + " is a ." +
                                       std::string(decl.type.name) + " register, but must be a predicate",
                            .hint = "make a predicate with setp"}));
}

void check_mode(const Scope& scope, const ir::Instruction& instruction, Diagnostics& out) {
  if (spec::in_mode(instruction.variant, scope.module.modes)) return;
  std::string_view mode = instruction.variant.mode();
  const bool wanted = !mode.starts_with('!');
  if (!wanted) mode.remove_prefix(1);
  out.push_back(located(instruction,
                        {.code = "target-option",
                         .message = "with these operands it " + std::string(wanted ? "needs " : "excludes ") +
                                    "the .target option " + std::string(mode),
                         .hint = wanted ? "write .target " + scope.module.target + ", " + std::string(mode)
                                        : "leave the option out, or use the operands of that mode"}));
}

void check_version(const Scope& scope, const ir::Instruction& instruction, Version since, Diagnostics& out) {
  if (instruction.variant.allowed(scope.target, scope.module.version)) return;
  if (scope.module.version < scope.target.since()) return;  // reported once, by check_target
  const bool low = scope.module.version < since;
  const std::string says = "but the module has .version " + to_string(scope.module.version);
  const std::string needs =
      "needs PTX " + to_string(since) + " on " + std::string(scope.target.name()) + ", ";
  out.push_back(located(instruction,
                        {.code = low ? "version-too-low" : "version-too-high",
                         .message = (low ? needs : "newer versions of PTX do not have it, ") + says,
                         .hint = "write .version " + to_string(since) +
                                 (low ? " (" + to_string(requirement_of(scope.target, since)) + ")" : "")}));
}

/// Braces around a scalar that only assemblers of earlier PTX versions take.
void check_braces(const Scope& scope, const ir::Instruction& instruction,
                  std::span<const ir::Operand> operands, Diagnostics& out) {
  const std::span<const OperandSpec> places = instruction.variant.operands();
  for (std::size_t i = 0; i < std::min(places.size(), operands.size()); ++i) {
    const bool braces = places[i].kind == OperandSpec::Kind::value && places[i].count == 0 &&
                        operands[i].kind == ir::Operand::Kind::vector;
    if (!braces || scope.module.version <= places[i].braces_until) continue;
    out.push_back(located(instruction, {.code = "operand-length",
                                        .message = "operand " + places[i].name +
                                                   " is in braces, which assemblers take up to PTX " +
                                                   to_string(places[i].braces_until) + " only",
                                        .hint = "write it without braces"}));
  }
}

/// Whether ptxas expands the instruction on the target, so that some operands do not fit.
bool is_expanded(const Target& target, std::span<const OperandSpec> places) {
  return std::ranges::any_of(places, [&](const OperandSpec& place) {
    const int variables = place.variable_allowed ? place.variable_since : 0;
    return std::max(variables, place.element_since) > target.number();
  });
}

bool has_element(const ir::Kernel& kernel, const ir::Operand& given) {
  const auto is_element = [&](const ir::Operand& one) {
    return one.kind == ir::Operand::Kind::reg && kernel.registers[one.index].element;
  };
  return given.kind == ir::Operand::Kind::vector ? std::ranges::any_of(kernel.elements_of(given), is_element)
                                                 : is_element(given);
}

/// Operands that ptxas cannot read in what it expands the instruction into.
void check_expanded(const Scope& scope, const ir::Instruction& instruction,
                    std::span<const ir::Operand> operands, Diagnostics& out) {
  const std::span<const OperandSpec> places = instruction.variant.operands();
  for (std::size_t i = 0; i < std::min(places.size(), operands.size()); ++i) {
    const OperandSpec& place = places[i];
    if (place.kind != OperandSpec::Kind::value) continue;
    const bool element = has_element(scope.kernel, operands[i]);
    const bool variable = operands[i].kind == ir::Operand::Kind::symbol;
    if (!element && !variable) continue;
    if ((element ? place.element_since : place.variable_since) <= scope.target.number()) continue;
    const std::string what = element ? "an element of a vector register"
                                     : ir::text_of(scope.kernel, operands[i]) + ", a variable with an offset";
    const bool is_result = place.direction == OperandSpec::Direction::out;
    out.push_back(located(
        instruction, {.code = "operand-kind",
                      .message = "operand " + place.name + " is " + what +
                                 ", which ptxas cannot read here on " + std::string(scope.target.name()),
                      .hint = is_result ? "write to a scalar register, and copy that to the element with mov"
                                        : "copy it to a scalar register with mov first"}));
  }
}

}  // namespace

Standing standing_of(const ir::Module& module, const Target& target, Variant variant) {
  return {.places = variant.operands(),
          .since = variant.since(target),
          .usual = variant.mode().empty() && !variant.undocumented() &&
                   variant.allowed(target, module.version) && !is_expanded(target, variant.operands()),
          .directive = variant.slot("directive").has_value()};
}

void check_instruction(const Scope& scope, const ir::Instruction& instruction, const Standing& standing,
                       Diagnostics& out) {
  const Variant& variant = instruction.variant;
  const std::span<const ir::Operand> operands = scope.kernel.operands_of(instruction);
  check_guard(scope, instruction, out);
  if (standing.usual && ir::operands_fit(scope.kernel, standing.places, operands)) return;
  if (!standing.usual) check_mode(scope, instruction, out);
  if (standing.since) {
    const std::optional<Diagnostic> found = check_operands(scope.kernel, variant, operands);
    const bool fit = !found || found->severity == Severity::warning;
    if (fit && !standing.usual) check_version(scope, instruction, *standing.since, out);
    if (fit && (found || variant.undocumented())) out.push_back(located(instruction, undocumented()));
    if (fit && found) check_braces(scope, instruction, operands, out);
    if (fit && !standing.usual) check_expanded(scope, instruction, operands, out);
    if (fit) return;
  }
  // An error: let it be reported with the other meanings that the opcode could have.
  const Specs* const specs = scope.module.specs.get();
  std::span<const Variant> candidates(&variant, 1);
  if (specs != nullptr && !specs->database().match(variant.opcode()).empty())
    candidates = specs->database().match(variant.opcode());
  Resolution resolution = resolve(scope.kernel, candidates, operands, scope.target, specs);
  if (resolution.variant) resolution = resolve(scope.kernel, {&variant, 1}, operands, scope.target, specs);
  if (resolution.diagnostic) out.push_back(located(instruction, std::move(*resolution.diagnostic)));
}

}  // namespace ptxloom::check_rules
