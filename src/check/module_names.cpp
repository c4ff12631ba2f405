// SPDX-License-Identifier: Apache-2.0
#include "check/module_names.hpp"

namespace ptxloom::check_rules {

ModuleNames::ModuleNames(const ir::Module& module) {
  functions_.reserve(module.functions.size());
  for (const ir::Function& function : module.functions) {
    const ir::Function*& known = functions_[function.name];
    if (known == nullptr || !known->defined) known = &function;
  }
  for (const ir::Variable& variable : module.variables) variables_.emplace(variable.name, &variable);
}

const ir::Function* ModuleNames::function(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : found->second;
}

const ir::Variable* ModuleNames::variable(std::string_view name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : found->second;
}

}  // namespace ptxloom::check_rules
