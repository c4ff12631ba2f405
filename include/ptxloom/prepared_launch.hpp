// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "ptxloom/kernel.hpp"
#include "ptxloom/plan.hpp"

/// \file
/// A kernel that is launched many times with the same plan.
namespace [[gnu::visibility("default")]] ptxloom {

/// A kernel with a launch configuration that is checked once and parameters that are packed once. A launch
/// only fills in the values that it gives. Copies share the kernel. Const members are thread-safe.
class PreparedLaunch {
 public:
  /// `names` lists the tensors and scalar arguments of the plan that each launch gives, in this order. All
  /// tensors must be among them. A scalar that is not keeps the plan's value. A name that the plan lacks is
  /// ignored. `sms` is the number of SMs, see launch_config_of. Throws Error(usage) as Function::launch for a
  /// configuration that the kernel cannot take, "argument-count", and "unknown-tensor" for a tensor that is
  /// not named.
  PreparedLaunch(Kernel kernel, const LaunchPlan& plan, int sms, std::span<const std::string_view> names);

  /// Queues a launch as Kernel::launch does. `values` are in the order of the names: the address of a tensor,
  /// or the bits of a scalar. Throws Error(usage, "tensor-map") for an address that TMA cannot read or write,
  /// and "argument-count" for a wrong number of values.
  void launch(CUstream_st* stream, std::span<const std::uint64_t> values) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace ptxloom
