// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ptxloom/tune.hpp"

namespace ptxloom {
namespace {

constexpr std::uint32_t kExecutorSms = 2;

}  // namespace

LaunchArguments::LaunchArguments(const LaunchPlan& plan, const AddressOf& address, const EncodeMap& encode) {
  for (const ArgumentPlan& argument : plan.arguments) {
    if (argument.map) {
      TensorMap map = *argument.map;
      map.address += address(argument.tensor);
      maps_.push_back(std::make_shared<const EncodedTensorMap>(encode(map)));
      arguments_.push_back(Argument::bytes(maps_.back()->bytes));
    } else if (argument.tensor.empty()) {
      arguments_.push_back(Argument::bits(argument.type, argument.bits));
    } else {
      arguments_.push_back(Argument::pointer(address(argument.tensor)));
    }
  }
}

std::uint64_t workspace_bytes(std::span<const LaunchPlan> launches) {
  std::uint64_t most = 0;
  for (const LaunchPlan& launch : launches) most = std::max(most, launch.workspace_bytes);
  return most;
}

KernelSignature signature_of(const LaunchPlan& plan) {
  KernelSignature signature{.name = plan.entry};
  for (const ArgumentPlan& argument : plan.arguments) {
    if (argument.map)
      signature.append({.name = argument.name,
                        .type = b8,
                        .count = sizeof(EncodedTensorMap),
                        .alignment = alignof(EncodedTensorMap)});
    else
      signature.append({.name = argument.name, .type = argument.type, .pointer = !argument.tensor.empty()});
  }
  return signature;
}

LaunchConfig launch_config_of(const LaunchPlan& plan, int sms) {
  const auto dim = [](const std::array<std::uint32_t, 3>& a) { return Dim3{a[0], a[1], a[2]}; };
  LaunchConfig config{.grid = dim(plan.grid),
                      .block = dim(plan.block),
                      .shared_bytes = plan.shared_bytes,
                      .cluster = dim(plan.cluster),
                      .cooperative = plan.cooperative};
  if (plan.blocks_per_sm != 0) {
    const std::uint32_t chip = sms == 0 ? kExecutorSms : static_cast<std::uint32_t>(sms);
    const std::uint32_t clusters = chip * plan.blocks_per_sm / config.cluster.x;
    config.grid.x = std::min(config.grid.x, std::max(clusters, 1U) * config.cluster.x);
  }
  return config;
}

}  // namespace ptxloom
