// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "ptxloom/context.hpp"

namespace ptxloom::test {

/// The executor as a chip of this target.
inline const Context& executor_of(const std::string& target) {
  static std::map<std::string, std::unique_ptr<const Context>> made;
  std::unique_ptr<const Context>& context = made[target];
  if (!context)
    context = std::make_unique<const Context>(ContextOptions{.device = "cpu", .cpu_target = target});
  return *context;
}

}  // namespace ptxloom::test
