// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <unordered_map>

#include "ptxloom/ir.hpp"

namespace ptxloom::check_rules {

/// What the names of a module mean, found in constant time: modules of tens of thousands of functions exist.
class ModuleNames {
 public:
  explicit ModuleNames(const ir::Module& module);

  /// As ir::Module::find: the definition, else the last declaration, else null.
  const ir::Function* function(std::string_view name) const;
  /// The first variable of this name, or null.
  const ir::Variable* variable(std::string_view name) const;
  bool contains(std::string_view name) const {
    return variable(name) != nullptr || function(name) != nullptr;
  }

 private:
  std::unordered_map<std::string_view, const ir::Function*> functions_;
  std::unordered_map<std::string_view, const ir::Variable*> variables_;
};

}  // namespace ptxloom::check_rules
