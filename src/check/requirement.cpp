// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <optional>

#include "check/needs.hpp"
#include "ptxloom/check.hpp"
#include "spec/database.hpp"

namespace ptxloom {
namespace check_rules {
namespace {

/// The lowest version in which all assemblers that read it have it: what only those of some releases take in
/// older ones does not count.
std::optional<Version> lowest_of_all(const spec::Need& need, const Target& target) {
  spec::Need lasting;
  std::ranges::copy_if(need, std::back_inserter(lasting), [](const spec::NeedAlternative& any) {
    return any.assemblers.until == target::Releases{}.until;
  });
  return spec::lowest_version({lasting.empty() ? &need : &lasting}, target);
}

}  // namespace

Version lowest_beside_instructions(const ir::Module& module, const Target& target) {
  Version lowest = target.since();
  if (!module.specs) return lowest;
  for_each_need(module, module.specs->database().directives(), [&](const ModuleNeed& one) {
    if (const auto since = lowest_of_all(one.need, target)) lowest = std::max(lowest, *since);
  });
  return lowest;
}

}  // namespace check_rules

Requirement requirement_of(const ir::Module& module) {
  const Target target = module.specs ? module.specs->target(module.target) : Target(module.target);
  Version lowest = check_rules::lowest_beside_instructions(module, target);
  for (const ir::Function& function : module.functions) {
    for (const ir::Instruction& instruction : function.instructions) {
      if (const auto since = instruction.variant.since(target)) lowest = std::max(lowest, *since);
    }
  }
  return requirement_of(target, lowest);
}

}  // namespace ptxloom
