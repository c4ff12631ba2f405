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
  std::uint32_t alignment = 0;        ///< what the address must be a multiple of; 0: of anything
  std::string name = {};              ///< of the tensor
};

/// On the stack if it fits, which it nearly always does.
class ParameterBuffer {
 public:
  explicit ParameterBuffer(std::span<const std::byte> initial) : size_(initial.size()) {
    if (size_ > few_.size()) many_.resize(size_);
    std::ranges::copy(initial, data());
  }
  std::byte* data() { return many_.empty() ? few_.data() : many_.data(); }
  std::span<const std::byte> bytes() { return {data(), size_}; }

 private:
  alignas(64) std::array<std::byte, 1024> few_;
  std::vector<std::byte> many_;
  std::size_t size_;
};

}  // namespace

/// One kernel of the sequence.
struct PreparedLaunch::Step {
  struct Clear {
    std::size_t value = 0;  // index of the value that is its tensor's address
    std::uint64_t offset = 0, bytes = 0;
  };
  Kernel kernel;
  std::unique_ptr<const api::Configured> configured;
  std::vector<std::byte> initial;
  std::vector<Patch> patches;
  std::vector<Clear> clear;

  void add(const ArgumentPlan& argument, const KernelParameter& parameter,
           std::span<const std::string_view> names) {
    if (argument.tensor.empty() && std::ranges::find(names, argument.name) == names.end()) {
      std::memcpy(initial.data() + parameter.offset, &argument.bits, parameter.size);
      return;
    }
    patches.push_back({.value = place_of(argument.tensor.empty() ? argument.name : argument.tensor, names),
                       .offset = parameter.offset,
                       .size = parameter.size,
                       .map = argument.map,
                       .alignment = argument.alignment,
                       .name = argument.tensor});
  }

  std::size_t place_of(std::string_view name, std::span<const std::string_view> names) const {
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    throw Error(ErrorKind::usage, "unknown-tensor",
                fmt::format("kernel {} reads or writes tensor {}, which is not among the named tensors",
                            kernel.name(), name),
                "name all tensors of the plan");
  }

  void check(std::span<const std::uint64_t> values) const {
    for (const Patch& patch : patches) {
      if (patch.alignment == 0 || values[patch.value] % patch.alignment == 0) continue;
      throw Error(ErrorKind::usage, "misaligned-operand",
                  fmt::format("tensor {} of kernel {} begins at address {:#x}, which is no multiple of {}",
                              patch.name, kernel.name(), values[patch.value], patch.alignment),
                  fmt::format("let it begin at a multiple of {} bytes", patch.alignment));
    }
  }

  void run(const api::Machine& machine, CUstream_st* stream, std::span<const std::uint64_t> values) const {
    for (const Clear& range : clear) machine.clear(stream, values[range.value] + range.offset, range.bytes);
    ParameterBuffer parameters(initial);
    for (const Patch& patch : patches) {
      std::byte* const place = parameters.data() + patch.offset;
      if (patch.map) {
        TensorMap map = *patch.map;
        map.address += values[patch.value];
        const EncodedTensorMap encoded = machine.encode(map);
        std::memcpy(place, encoded.bytes.data(), encoded.bytes.size());
      } else {
        std::memcpy(place, &values[patch.value], patch.size);
      }
    }
    configured->launch(stream, parameters.bytes());
  }
};

struct PreparedLaunch::State {
  std::shared_ptr<const api::Machine> machine;
  std::size_t count = 0;  // number of values
  std::vector<Step> steps;
};

PreparedLaunch::Step PreparedLaunch::prepare(const Kernel& kernel, const LaunchPlan& plan, int sms,
                                             std::span<const std::string_view> names) {
  const Kernel::State& loaded = *kernel.state_;
  Step step{.kernel = kernel,
            .configured = loaded.loaded->configure(launch_config_of(plan, sms), loaded.signature),
            .initial = {},
            .patches = {},
            .clear = {}};
  const KernelSignature& signature = step.configured->signature();
  if (signature.parameters.size() != plan.arguments.size()) {
    throw Error(ErrorKind::usage, "argument-count",
                fmt::format("kernel {} has {} parameters, but its plan has {} arguments", kernel.name(),
                            signature.parameters.size(), plan.arguments.size()),
                "use the plan that the kernel was emitted with");
  }
  step.initial.resize(signature.size());
  for (std::size_t i = 0; i < plan.arguments.size(); ++i)
    step.add(plan.arguments[i], signature.parameters[i], names);
  for (const ClearPlan& range : plan.clear)
    step.clear.push_back({step.place_of(range.tensor, names), range.offset, range.bytes});
  return step;
}

PreparedLaunch::PreparedLaunch(std::span<const Kernel> kernels, std::span<const LaunchPlan> plans, int sms,
                               std::span<const std::string_view> names) {
  if (kernels.empty() || kernels.size() != plans.size())
    throw Error(ErrorKind::usage, "launch-count",
                fmt::format("{} kernels are given for {} launches", kernels.size(), plans.size()),
                "give one kernel for each launch, and at least one");
  auto state = std::make_shared<State>(
      State{.machine = kernels.front().state_->machine, .count = names.size(), .steps = {}});
  for (std::size_t i = 0; i < kernels.size(); ++i)
    state->steps.push_back(prepare(kernels[i], plans[i], sms, names));
  state_ = std::move(state);
}

void PreparedLaunch::launch(CUstream_st* stream, std::span<const std::uint64_t> values) const {
  const State& state = *state_;
  if (values.size() != state.count) {
    throw Error(ErrorKind::usage, "argument-count",
                fmt::format("{} values are given for a launch of kernel {}, which was prepared for {}",
                            values.size(), state.steps.front().kernel.name(), state.count),
                "give one for each name, in order");
  }
  for (const Step& step : state.steps) step.check(values);
  for (const Step& step : state.steps) step.run(*state.machine, stream, values);
}

}  // namespace ptxloom
