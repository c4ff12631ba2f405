// SPDX-License-Identifier: Apache-2.0
#include "check/rules.hpp"

namespace ptxloom::check_rules {

std::optional<Target> check_target(const ir::Module& module, Diagnostics& out) {
  try {
    const Target target = module.specs ? module.specs->target(module.target) : Target(module.target);
    if (module.version < target.since())
      out.push_back({.code = "version-too-low",
                     .message = ".target " + module.target + " needs PTX " + to_string(target.since()) +
                                ", the module says " + to_string(module.version),
                     .hint = "write .version " + to_string(target.since())});
    return target;
  } catch (const Error& error) {
    out.insert(out.end(), error.diagnostics().begin(), error.diagnostics().end());
    return std::nullopt;
  }
}

}  // namespace ptxloom::check_rules
