// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "ptxloom/context.hpp"

namespace ptxloom::test {

/// The CPU executor as a device of this target.
inline const Context& executor(const std::string& target = "sm_90a") {
  static std::map<std::string, Context> contexts;
  const auto known = contexts.find(target);
  if (known != contexts.end()) return known->second;
  return contexts.emplace(target, Context({.device = "cpu", .cpu_target = target})).first->second;
}

}  // namespace ptxloom::test
