// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "check/rules.hpp"
#include "spec/database.hpp"

namespace ptxloom::check_rules {
namespace {

void check_version(const ir::Module& module, const Target& target, Diagnostics& out) {
  const std::string version = to_string(module.version);
  if (module.version < target.since()) {
    out.push_back({.code = "version-too-low",
                   .message = ".target " + module.target + " needs PTX " + to_string(target.since()) +
                              ", but the module has .version " + version,
                   .hint = "write .version " + to_string(target.since()) + " (" +
                           to_string(requirement_of(target, target.since())) + ")"});
    return;
  }
  if (!module.specs) return;
  const std::span<const Version> known = module.specs->database().vocabulary().versions();
  if (known.empty() || std::find(known.begin(), known.end(), module.version) != known.end()) return;
  const std::string newest = to_string(*std::max_element(known.begin(), known.end()));
  out.push_back({.code = "version-too-high",
                 .message = "PTX " + version + " is not known; the newest is " + newest,
                 .hint = "write .version " + newest + ", or add the version with a spec overlay"});
}

}  // namespace

std::optional<Target> check_target(const ir::Module& module, Diagnostics& out) {
  try {
    const Target target = module.specs ? module.specs->target(module.target) : Target(module.target);
    check_version(module, target, out);
    return target;
  } catch (const Error& error) {
    out.insert(out.end(), error.diagnostics().begin(), error.diagnostics().end());
    return std::nullopt;
  }
}

}  // namespace ptxloom::check_rules
