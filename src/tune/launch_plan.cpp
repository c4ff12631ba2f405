// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/tune.hpp"

namespace ptxloom {

std::vector<Argument> arguments_of(const LaunchPlan& plan, const AddressOf& address) {
  std::vector<Argument> arguments;
  for (const ArgumentPlan& argument : plan.arguments) {
    arguments.push_back(argument.tensor.empty() ? Argument::bits(argument.type, argument.bits)
                                                : Argument::pointer(address(argument.tensor)));
  }
  return arguments;
}

LaunchConfig launch_config_of(const LaunchPlan& plan) {
  const auto dim = [](const std::array<std::uint32_t, 3>& a) { return Dim3{a[0], a[1], a[2]}; };
  return {.grid = dim(plan.grid),
          .block = dim(plan.block),
          .shared_bytes = plan.shared_bytes,
          .cluster = dim(plan.cluster)};
}

}  // namespace ptxloom
