// SPDX-License-Identifier: Apache-2.0
#include "oracle/checks.hpp"

namespace ptxloom::oracle {

std::span<const Version> versions_of(const Specs& specs) { return specs.database().vocabulary().versions(); }

std::vector<Target> targets_of(const Specs& specs) {
  std::vector<Target> all = specs.targets();
  std::erase_if(all, [&](const Target& target) {
    return versions_of(specs).empty() || target.since() > versions_of(specs).back();
  });
  return all;
}

}  // namespace ptxloom::oracle
