// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "api/kernel_state.hpp"
#include "base/nearest.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom {

const KernelSignature& Kernel::signature() const { return state_->signature; }
Target Kernel::target() const { return *state_->target; }

std::vector<KernelVariable> Kernel::variables() const {
  constexpr std::array kHandles = {texref, samplerref, surfref};
  std::vector<KernelVariable> all;
  for (const ir::Variable& variable : parse(state_->ptx, state_->specs).module.variables) {
    const bool constant = variable.space == ir::Space::constant;
    if ((!constant && variable.space != ir::Space::global) || variable.linkage == ir::Linkage::external ||
        std::ranges::find(kHandles, variable.type) != kHandles.end())
      continue;
    all.push_back({.name = variable.name,
                   .constant = constant,
                   .bytes = variable.count * static_cast<std::uint64_t>(variable.type.whole_bytes())});
  }
  return all;
}

void Kernel::write_variable(std::string_view name, std::span<const std::byte> data) const {
  const std::vector<KernelVariable> all = variables();
  const auto found = std::ranges::find(all, name, &KernelVariable::name);
  if (found == all.end()) {
    std::vector<std::string> names, known;
    for (const KernelVariable& variable : all) {
      names.push_back(variable.name);
      known.push_back(fmt::format("{} ({} bytes)", variable.name, variable.bytes));
    }
    throw Error(ErrorKind::usage, "unknown-variable",
                fmt::format("the module of kernel {} has no variable '{}'", this->name(), name),
                known.empty() ? "it has none at all"
                              : fmt::format("did you mean '{}'? it has {}", nearest(name, names),
                                            fmt::join(known, ", ")));
  }
  if (found->bytes != data.size()) {
    throw Error(ErrorKind::usage, "variable-size",
                fmt::format("variable {} has {} bytes, but {} are given", name, found->bytes, data.size()),
                "give all of them");
  }
  state_->loaded->write_variable(name, data);
}

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
