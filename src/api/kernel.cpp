// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kernel.hpp"

#include "api/kernel_state.hpp"

namespace ptxloom {

const KernelSignature& Kernel::signature() const { return state_->signature; }

void Kernel::launch(CUstream_st* stream, const LaunchConfig& config,
                    std::span<const Argument> arguments) const {
  state_->loaded->launch(stream, config, state_->signature, arguments, {});
}

void Kernel::launch_observed(const LaunchConfig& config, std::span<const Argument> arguments,
                             const exec::Observer& observer) const {
  state_->loaded->launch(nullptr, config, state_->signature, arguments, observer);
}

const std::string& Kernel::ptx() const { return state_->ptx; }
std::span<const std::byte> Kernel::cubin() const { return state_->cubin; }
std::optional<Resources> Kernel::resources() const { return state_->resources; }
std::span<const Diagnostic> Kernel::diagnostics() const { return state_->diagnostics; }
const StepTimes& Kernel::times() const { return state_->times; }
bool Kernel::cached() const { return state_->cached; }

}  // namespace ptxloom
