// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "check/directives.hpp"
#include "ptxloom/check.hpp"
#include "spec/database.hpp"

namespace ptxloom {
namespace {

/// `lowest`, or the first version that has all directives of the function.
Version with_directives(const ir::Function& function, const Specs* specs, const Target& target,
                        Version lowest) {
  if (specs == nullptr) return lowest;
  const spec::Directives& directives = specs->database().directives();
  for (const std::string_view name : check_rules::directives_of(function)) {
    const spec::Need* const need = directives.need(name);
    const auto since = need == nullptr ? std::nullopt : spec::lowest_version({need}, target);
    if (since) lowest = std::max(lowest, *since);
  }
  return lowest;
}

}  // namespace

Requirement requirement_of(const ir::Module& module) {
  const Target target = module.specs ? module.specs->target(module.target) : Target(module.target);
  Version lowest = target.since();
  for (const ir::Function& function : module.functions) {
    lowest = with_directives(function, module.specs.get(), target, lowest);
    for (const ir::Instruction& instruction : function.instructions) {
      if (const auto since = instruction.variant.since(target)) lowest = std::max(lowest, *since);
    }
  }
  return requirement_of(target, lowest);
}

}  // namespace ptxloom
