// SPDX-License-Identifier: Apache-2.0
#include "launch/context.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cuda/nvml.hpp"
#include "launch/current.hpp"

namespace ptxloom {
namespace {

std::string bus_id(const cuda::Driver& driver, CUdevice device) {
  std::array<char, 32> bus = {};
  const CUresult told = driver.cuDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device);
  return told == CUDA_SUCCESS ? bus.data() : "";
}

DeviceInfo read_info(const cuda::Driver& driver, int ordinal) {
  CUdevice device = 0;
  driver.check(driver.cuDeviceGet(&device, ordinal), "opening a device");
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    driver.check(driver.cuDeviceGetAttribute(&value, which, device), "reading a device's attributes");
    return value;
  };
  std::array<char, 256> name = {};
  driver.check(driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()), device),
               "reading a device's name");
  std::size_t memory = 0;
  driver.check(driver.cuDeviceTotalMem(&memory, device), "reading a device's memory size");
  return {.ordinal = ordinal,
          .name = name.data(),
          .major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
          .minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
          .sms = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
          .clock_mhz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000,
          .memory_clock_mhz = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) / 1000,
          .memory_bus_bits = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
          .memory_bytes = memory,
          .l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
          .shared_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
          .threads_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
          .driver_api = driver.api_version,
          .pci = bus_id(driver, device)};
}

/// Whether a kernel caused it. These errors leave the context unusable.
bool is_fault(CUresult result) {
  constexpr std::array kFaults = {
      CUDA_ERROR_ILLEGAL_ADDRESS,       CUDA_ERROR_LAUNCH_TIMEOUT,      CUDA_ERROR_ASSERT,
      CUDA_ERROR_HARDWARE_STACK_ERROR,  CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_MISALIGNED_ADDRESS,
      CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC,          CUDA_ERROR_LAUNCH_FAILED,
  };
  return std::ranges::find(kFaults, result) != kFaults.end();
}

}  // namespace

void LaunchTrail::add(const std::string& kernel) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(kernels_, kernel) != kernels_.end()) return;
  if (kernels_.size() == kLongest) kernels_.erase(kernels_.begin());
  kernels_.push_back(kernel);
}

void LaunchTrail::clear() {
  const std::lock_guard lock(mutex_);
  kernels_.clear();
}

std::string LaunchTrail::describe() const {
  const std::lock_guard lock(mutex_);
  if (kernels_.empty()) return "a kernel of another library";
  return fmt::format("{}`{}`", kernels_.size() > 1 ? "one of " : "", fmt::join(kernels_, "`, `"));
}

DeviceContext::State::State(Libraries with, int ordinal)
    : libraries(std::move(with)), driver(libraries.driver()) {
  int count = 0;
  driver.check(driver.cuDeviceGetCount(&count), "counting the devices");
  if (ordinal < 0 || ordinal >= count) {
    throw Error(ErrorKind::usage, "unknown-device", fmt::format("there is no device {}", ordinal),
                fmt::format("the devices are 0 to {}; CUDA_VISIBLE_DEVICES may hide others", count - 1));
  }
  info = read_info(driver, ordinal);
  driver.check(driver.cuDeviceGet(&device, ordinal), "opening a device");
  driver.check(driver.cuDevicePrimaryCtxRetain(&context, device), "retaining the primary context");
}

DeviceContext::State::~State() { driver.cuDevicePrimaryCtxRelease(device); }

void DeviceContext::State::fail(CUresult result, std::string_view doing) const {
  if (is_fault(result)) {
    throw Error(ErrorKind::device_fault, "device-fault",
                fmt::format("{} on device {}: {}", trail.describe(), info.ordinal, driver.describe(result)),
                "start another process: this one can no longer use the device; the CPU executor or "
                "compute-sanitizer names the instruction")
        .with_cuda_result(result);
  }
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    throw Error(ErrorKind::out_of_memory, "out-of-device-memory",
                fmt::format("device {} has no memory left for {}", info.ordinal, doing),
                "release memory, or see in nvidia-smi what else uses it")
        .with_cuda_result(result);
  }
  driver.fail(result, doing);
}

std::vector<DeviceInfo> devices(const Libraries& libraries) {
  const cuda::Driver& driver = libraries.driver();
  int count = 0;
  driver.check(driver.cuDeviceGetCount(&count), "counting the devices");
  std::vector<DeviceInfo> all;
  for (int ordinal = 0; ordinal < count; ++ordinal) all.push_back(read_info(driver, ordinal));
  return all;
}

DeviceContext::DeviceContext(Libraries libraries, int ordinal)
    : state_(std::make_shared<State>(std::move(libraries), ordinal)) {}

const DeviceInfo& DeviceContext::info() const { return state_->info; }
const Libraries& DeviceContext::libraries() const { return state_->libraries; }

std::optional<DeviceHealth> DeviceContext::health() const try {
  const cuda::Nvml& nvml = state_->libraries.nvml();
  nvmlDevice_st* device = nullptr;
  const std::string& bus = state_->info.pci;
  if (bus.empty() || nvml.nvmlDeviceGetHandleByPciBusId_v2(bus.c_str(), &device) != 0) return std::nullopt;
  unsigned clock = 0, memory_clock = 0, celsius = 0, milliwatt = 0;
  unsigned long long reasons = 0;
  if (nvml.nvmlDeviceGetClockInfo(device, cuda::Nvml::kClockSm, &clock) != 0 ||
      nvml.nvmlDeviceGetCurrentClocksThrottleReasons(device, &reasons) != 0) {
    return std::nullopt;
  }
  // Not every device reports these; they stay 0.
  nvml.nvmlDeviceGetClockInfo(device, cuda::Nvml::kClockMemory, &memory_clock);
  nvml.nvmlDeviceGetTemperature(device, cuda::Nvml::kSensorGpu, &celsius);
  nvml.nvmlDeviceGetPowerUsage(device, &milliwatt);
  return DeviceHealth{.clock_mhz = static_cast<int>(clock),
                      .memory_clock_mhz = static_cast<int>(memory_clock),
                      .temperature_c = static_cast<int>(celsius),
                      .power_w = milliwatt / 1000.0,
                      .power_capped = (reasons & cuda::Nvml::kPowerCapped) != 0,
                      .throttled = (reasons & cuda::Nvml::kThrottled) != 0};
} catch (const Error&) {
  return std::nullopt;
}

void DeviceContext::synchronize() const {
  const auto current = state_->make_current();
  state_->check(state_->driver.cuCtxSynchronize(), "waiting for the device");
  state_->trail.clear();
}

void DeviceContext::synchronize(CUstream_st* stream) const {
  const auto current = state_->make_current();
  state_->check(state_->driver.cuStreamSynchronize(stream), "waiting for a stream");
}

bool DeviceContext::is_capturing(CUstream_st* stream) const {
  const auto current = state_->make_current();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  state_->check(state_->driver.cuStreamIsCapturing(stream, &status), "asking whether a stream is captured");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

std::uint64_t DeviceContext::stream_id(CUstream_st* stream) const {
  const auto current = state_->make_current();
  unsigned long long id = 0;
  state_->check(state_->driver.cuStreamGetId(stream, &id), "asking which stream this is");
  return id;
}

void with_current(const DeviceContext& device, const std::function<void()>& work) {
  const auto current = device.state()->make_current();
  work();
}

std::pair<std::uint64_t, std::uint64_t> DeviceContext::memory() const {
  const auto current = state_->make_current();
  std::size_t free = 0, total = 0;
  state_->check(state_->driver.cuMemGetInfo(&free, &total), "asking for free memory");
  return {free, total};
}

}  // namespace ptxloom
