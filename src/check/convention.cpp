// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <string>

#include "check/rules.hpp"

// What the calling convention does not have: predicates and integers of 8 and 16 bits. It has .b8, .b16, .f16
// and arrays.
namespace ptxloom::check_rules {
namespace {

bool is_narrow(const ir::Parameter& parameter) {
  const bool array = parameter.count != 0 || parameter.unsized;
  return !array && parameter.type.bits < 32 && parameter.type.kind != TypeKind::bits &&
         !parameter.type.is_float();
}

// A module with a function of several results is assembled without the calling convention.
bool has_convention(const ir::Module& module) {
  return std::ranges::none_of(module.functions,
                              [](const ir::Function& function) { return function.results.size() > 1; });
}

}  // namespace

std::optional<Diagnostic> check_convention(const ir::Module& module, const ir::Interface& callee,
                                           const std::string& use) {
  const auto refusal = [&](std::span<const ir::Parameter> passed,
                           const std::string& verb) -> std::optional<Diagnostic> {
    const auto narrow = std::ranges::find_if(passed, is_narrow);
    if (narrow == passed.end()) return std::nullopt;
    const bool predicate = narrow->type == pred;
    if (!predicate && !has_convention(module)) return std::nullopt;
    return Diagnostic{
        .code = "operand-type",
        .message = "a function that " + use + " cannot " + verb + " a ." + std::string(narrow->type.name),
        .hint = predicate ? "pass 0 or 1 in a .b32"
                          : "declare it as .b" + std::to_string(narrow->type.bits) + ", or as .b32"};
  };
  if (auto refused = refusal(callee.parameters, "take")) return refused;
  return refusal(callee.results, "return");
}

}  // namespace ptxloom::check_rules
