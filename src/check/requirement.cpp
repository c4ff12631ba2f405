// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ptxloom/check.hpp"

namespace ptxloom {

Requirement requirement_of(const ir::Module& module) {
  const Target target = module.specs ? module.specs->target(module.target) : Target(module.target);
  Version lowest = target.since();
  for (const ir::Function& function : module.functions) {
    for (const ir::Instruction& instruction : function.instructions) {
      if (const auto since = instruction.variant.since(target)) lowest = std::max(lowest, *since);
    }
  }
  return requirement_of(target, lowest);
}

}  // namespace ptxloom
