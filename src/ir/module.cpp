// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/ir.hpp"

namespace ptxloom::ir {

const Function* Module::find(std::string_view name) const {
  const Function* found = nullptr;
  for (const Function& function : functions) {
    if (function.name != name) continue;
    if (function.defined) return &function;
    found = &function;
  }
  return found;
}

}  // namespace ptxloom::ir
