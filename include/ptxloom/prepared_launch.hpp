// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "ptxloom/kernel.hpp"
#include "ptxloom/plan.hpp"

// A kernel that is launched many times with the same plan: the launch configuration is checked once, the
// parameters are packed once, and each launch fills in only what is new to it.
namespace [[gnu::visibility("default")]] ptxloom {

class PreparedLaunch {
 public:
  /// `names`: tensors of the plan, and its scalar arguments, that each launch gives, in this order. All
  /// tensors of the plan must be among them; a scalar that is not keeps the plan's value; a name that the
  /// plan lacks is ignored. `sms` as of launch_config_of. Throws Error(usage) for a configuration that the
  /// kernel cannot take, "unknown-tensor" for a tensor that is not named.
  PreparedLaunch(Kernel kernel, const LaunchPlan& plan, int sms, std::span<const std::string_view> names);

  /// `values`, in the order of the names: the address of a tensor, the bits of a scalar. Queues the launch as
  /// Kernel::launch does. Throws Error(usage, "tensor-map") for an address that TMA cannot read or write,
  /// "argument-count" for another number of values.
  void launch(CUstream_st* stream, std::span<const std::uint64_t> values) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace ptxloom
