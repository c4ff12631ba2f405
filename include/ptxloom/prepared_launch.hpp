// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "ptxloom/kernel.hpp"
#include "ptxloom/plan.hpp"

/// \file
/// Kernels that are launched many times with the same plans.
namespace [[gnu::visibility("default")]] ptxloom {

/// A kernel, or several that run one after the other, with launch configurations that are checked once and
/// parameters that are packed once. A launch only fills in the values that it gives. Copies share the
/// kernels. Const members are thread-safe.
class PreparedLaunch {
 public:
  /// `names` lists the tensors and scalar arguments of the plans that each launch gives, in this order. All
  /// tensors must be among them. A scalar that is not keeps the plan's value. A name that the plan lacks is
  /// ignored. `sms` is the number of SMs, see launch_config_of. Throws Error(usage) as Function::launch for a
  /// configuration that the kernel cannot take, "argument-count", and "unknown-tensor" for a tensor that is
  /// not named.
  ///@{
  PreparedLaunch(Kernel kernel, const LaunchPlan& plan, int sms, std::span<const std::string_view> names)
      : PreparedLaunch(std::span(&kernel, 1), std::span(&plan, 1), sms, names) {}
  PreparedLaunch(std::span<const Kernel> kernels, std::span<const LaunchPlan> plans, int sms,
                 std::span<const std::string_view> names);
  ///@}

  /// Queues the launches as Kernel::launch does, and what is cleared before them. `values` are in the order
  /// of the names: the address of a tensor, or the bits of a scalar. Throws Error(usage, "tensor-map") for an
  /// address that TMA cannot read or write, "misaligned-operand" for one that is not aligned as its plan
  /// says, and "argument-count" for a wrong number of values.
  void launch(CUstream_st* stream, std::span<const std::uint64_t> values) const;

 private:
  struct State;
  struct Step;
  static Step prepare(const Kernel& kernel, const LaunchPlan& plan, int sms,
                      std::span<const std::string_view> names);
  std::shared_ptr<const State> state_;
};

}  // namespace ptxloom
