// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ptxloom/tune.hpp"
#include "tune/model/model.hpp"
#include "tune/model/rotation.hpp"

namespace ptxloom::tune {
namespace {

constexpr std::size_t kMostSets = 256;

std::uint64_t bytes_of(const Task& task) {
  std::uint64_t bytes = 0;
  for (const HostTensor& tensor : task.tensors) bytes += tensor.plan.bytes();
  return std::max<std::uint64_t>(bytes, 1);
}

}  // namespace

std::size_t rotation(const Task& task, int l2_bytes) {
  if (task.warm) return 1;
  const std::uint64_t wanted = 2 * static_cast<std::uint64_t>(l2_bytes) / bytes_of(task) + 1;
  return std::min<std::uint64_t>(wanted, kMostSets);
}

double least_time_us(const Task& task, const DeviceInfo& device) {
  const target::ChipRates* rates = target::rates_of(10 * device.major + device.minor);
  double seconds = 0;
  if (rates != nullptr && device.clock_mhz > 0) {
    const double peak = 1e6 * device.clock_mhz * device.sms * rates->operations(task.unit);
    if (peak > 0) seconds = task.operations / peak;
  }
  const double lap =
      static_cast<double>(bytes_of(task)) * static_cast<double>(rotation(task, device.l2_bytes));
  const double cold = task.warm ? 0 : std::max(0.0, 1 - device.l2_bytes / lap);
  if (dram_rate(device) > 0) seconds = std::max(seconds, cold * task.input_bytes / dram_rate(device));
  return 1e6 * seconds;
}

}  // namespace ptxloom::tune
