// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/prepared_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "api/kernel_state.hpp"
#include "api/machine.hpp"
#include "ptxloom/tune.hpp"

namespace ptxloom {
namespace {

/// A value that a launch writes into the parameter buffer.
struct Patch {
  std::size_t value = 0;  ///< index of the value that the launch passes
  std::uint32_t offset = 0, size = 0;
  std::optional<TensorMap> map = {};  ///< written instead of the address, which is added to the map's own
};

/// On the stack if it fits, which it nearly always does.
class ParameterBuffer {
 public:
  explicit ParameterBuffer(std::span<const std::byte> initial) : size_(initial.size()) {
    if (size_ > few_.size()) many_.resize(size_);
    std::memcpy(data(), initial.data(), size_);
  }
  std::byte* data() { return many_.empty() ? few_.data() : many_.data(); }
  std::span<const std::byte> bytes() { return {data(), size_}; }

 private:
  alignas(64) std::array<std::byte, 1024> few_;
  std::vector<std::byte> many_;
  std::size_t size_;
};

}  // namespace

struct PreparedLaunch::State {
  Kernel kernel;
  std::shared_ptr<const api::Machine> machine;
  std::unique_ptr<const api::Configured> configured;
  std::size_t count = 0;  // number of values
  std::vector<std::byte> initial;
  std::vector<Patch> patches;

  void add(const ArgumentPlan& argument, const KernelParameter& parameter,
           std::span<const std::string_view> names) {
    const std::string_view name = argument.tensor.empty() ? argument.name : argument.tensor;
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) {
      patches.push_back({.value = static_cast<std::size_t>(found - names.begin()),
                         .offset = parameter.offset,
                         .size = parameter.size,
                         .map = argument.map});
    } else if (argument.tensor.empty()) {
      std::memcpy(initial.data() + parameter.offset, &argument.bits, parameter.size);
    } else {
      throw Error(ErrorKind::usage, "unknown-tensor",
                  fmt::format("kernel {} reads or writes tensor {}, which is not among the named tensors",
                              kernel.name(), name),
                  "name all tensors of the plan");
    }
  }
};

PreparedLaunch::PreparedLaunch(Kernel kernel, const LaunchPlan& plan, int sms,
                               std::span<const std::string_view> names) {
  const Kernel::State& loaded = *kernel.state_;
  auto state = std::make_shared<State>(
      State{.kernel = kernel,
            .machine = loaded.machine,
            .configured = loaded.loaded->configure(launch_config_of(plan, sms), loaded.signature),
            .count = names.size(),
            .initial = {},
            .patches = {}});
  const KernelSignature& signature = state->configured->signature();
  if (signature.parameters.size() != plan.arguments.size()) {
    throw Error(ErrorKind::usage, "argument-count",
                fmt::format("kernel {} has {} parameters, but its plan has {} arguments", kernel.name(),
                            signature.parameters.size(), plan.arguments.size()),
                "use the plan that the kernel was emitted with");
  }
  state->initial.resize(signature.size());
  for (std::size_t i = 0; i < plan.arguments.size(); ++i)
    state->add(plan.arguments[i], signature.parameters[i], names);
  state_ = std::move(state);
}

void PreparedLaunch::launch(CUstream_st* stream, std::span<const std::uint64_t> values) const {
  const State& state = *state_;
  if (values.size() != state.count) {
    throw Error(ErrorKind::usage, "argument-count",
                fmt::format("{} values are given for a launch of kernel {}, which was prepared for {}",
                            values.size(), state.kernel.name(), state.count),
                "give one for each name, in order");
  }
  ParameterBuffer parameters(state.initial);
  for (const Patch& patch : state.patches) {
    std::byte* const place = parameters.data() + patch.offset;
    if (patch.map) {
      TensorMap map = *patch.map;
      map.address += values[patch.value];
      const EncodedTensorMap encoded = state.machine->encode(map);
      std::memcpy(place, encoded.bytes.data(), encoded.bytes.size());
    } else {
      std::memcpy(place, &values[patch.value], patch.size);
    }
  }
  state.configured->launch(stream, parameters.bytes());
}

}  // namespace ptxloom
