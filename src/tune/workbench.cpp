// SPDX-License-Identifier: Apache-2.0
#include "tune/workbench.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ptxloom::tune {
namespace {

constexpr std::size_t kMostSets = 256;
constexpr std::size_t kMostLaunches = 1024;

std::size_t count_sets(const DeviceContext& device, const Task& task) {
  std::uint64_t bytes = 0;
  for (const HostTensor& tensor : task.tensors) bytes += tensor.plan.bytes();
  bytes = std::max<std::uint64_t>(bytes, 1);
  const std::uint64_t wanted = 2 * static_cast<std::uint64_t>(device.info().l2_bytes) / bytes + 1;
  const std::uint64_t possible = device.memory().first / 2 / bytes;
  return std::clamp<std::uint64_t>(std::min(wanted, possible), 1, kMostSets);
}

bool is_output(const HostTensor& tensor) { return tensor.plan.role == TensorPlan::Role::out; }

}  // namespace

Workbench::Workbench(const DeviceContext& device, const Task& task)
    : device_(device), task_(task), stream_(device), start_(device), stop_(device) {
  sets_.resize(count_sets(device, task));
  for (Set& set : sets_) {
    for (const HostTensor& tensor : task.tensors) {
      DeviceMemory memory(device, tensor.plan.bytes());
      is_output(tensor) ? memory.fill(kPoison) : memory.upload(tensor.bytes);
      set.push_back(std::move(memory));
    }
  }
}

Function Workbench::load(const Candidate& candidate) const {
  KernelSignature signature{.name = candidate.launch.entry, .parameters = {}};
  for (const ArgumentPlan& argument : candidate.launch.arguments) {
    signature.append({.name = argument.name, .type = argument.type, .pointer = !argument.tensor.empty()});
  }
  return DeviceModule(device_, candidate.cubin).function(std::move(signature));
}

Arguments Workbench::pack(const Function& function, const LaunchPlan& launch, const Set& set) const {
  const auto address = [&](std::string_view name) -> std::uint64_t {
    const auto tensor =
        std::ranges::find(task_.tensors, name, [](const HostTensor& t) { return t.plan.name; });
    return tensor == task_.tensors.end()
               ? 0
               : set[static_cast<std::size_t>(tensor - task_.tensors.begin())].address();
  };
  return {function.signature(), arguments_of(launch, address)};
}

std::vector<Arguments> Workbench::pack_all(const Function& function, const LaunchPlan& launch) const {
  std::vector<Arguments> all;
  for (const Set& set : sets_) all.push_back(pack(function, launch, set));
  return all;
}

Verdict Workbench::verify(const Function& function, const LaunchPlan& launch) const {
  HostTensor output;
  return verify_run(task_.expected, [&](std::byte poison) -> const HostTensor& {
    for (std::size_t i = 0; i < task_.tensors.size(); ++i) {
      const HostTensor& tensor = task_.tensors[i];
      if (is_output(tensor)) sets_[0][i].fill(poison);
      if (tensor.plan.role == TensorPlan::Role::inout) sets_[0][i].upload(tensor.bytes);
    }
    function.launch(launch_config_of(launch), pack(function, launch, sets_[0]), stream_);
    stream_.synchronize();
    const auto wanted = std::ranges::find(task_.tensors, task_.expected.tensor,
                                          [](const HostTensor& t) { return t.plan.name; });
    output = *wanted;
    output.bytes.resize(output.plan.bytes());
    sets_[0][static_cast<std::size_t>(wanted - task_.tensors.begin())].download(output.bytes);
    return output;
  });
}

Lap Workbench::record(const Function& function, const LaunchPlan& launch, double target_us) const {
  const LaunchConfig config = launch_config_of(launch);
  const std::vector<Arguments> arguments = pack_all(function, launch);
  const auto repeat = [&](std::size_t launches) {
    return Graph(device_, [&](CUstream_st* stream) {
      for (std::size_t i = 0; i < launches; ++i)
        function.launch(config, arguments[i % arguments.size()], stream);
    });
  };
  Lap lap{.function = function, .graph = repeat(arguments.size()), .launches = arguments.size()};
  time_us(lap);  // warms up
  const double laps = std::ceil(target_us / (time_us(lap) * static_cast<double>(lap.launches)));
  const auto most = std::max<std::size_t>(kMostLaunches / lap.launches, 1);
  const std::size_t count = std::clamp<std::size_t>(static_cast<std::size_t>(laps), 1, most) * lap.launches;
  if (count != lap.launches) lap = {.function = function, .graph = repeat(count), .launches = count};
  return lap;
}

double Workbench::time_us(const Lap& lap) const {
  start_.record(stream_);
  lap.graph.launch(stream_);
  stop_.record(stream_);
  return 1000.0 * static_cast<double>(stop_.elapsed_ms(start_)) / static_cast<double>(lap.launches);
}

}  // namespace ptxloom::tune
