// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cuda/symbols.hpp"

// libnvidia-ml.so.1: the state of a device. None of the packages we require has its header, so the few
// functions used are declared here, following its stable C interface.
extern "C" {
struct nvmlDevice_st;
int nvmlInit_v2();
int nvmlSystemGetDriverVersion(char* version, unsigned length);
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_st** device);
int nvmlDeviceGetClockInfo(nvmlDevice_st* device, int clock, unsigned* mhz);
int nvmlDeviceGetTemperature(nvmlDevice_st* device, int sensor, unsigned* celsius);
int nvmlDeviceGetPowerUsage(nvmlDevice_st* device, unsigned* milliwatt);
int nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_st* device, unsigned long long* reasons);
}

// clang-format off
#define PTXLOOM_NVML_SYMBOLS(X)                                                    \
  X(nvmlInit_v2) X(nvmlSystemGetDriverVersion) X(nvmlDeviceGetHandleByPciBusId_v2) \
  X(nvmlDeviceGetClockInfo) X(nvmlDeviceGetTemperature) X(nvmlDeviceGetPowerUsage) \
  X(nvmlDeviceGetCurrentClocksThrottleReasons)
// clang-format on

namespace ptxloom::cuda {

struct Nvml {
  PTXLOOM_NVML_SYMBOLS(PTXLOOM_SYMBOL_MEMBER)

  static constexpr int kClockSm = 1;
  static constexpr int kClockMemory = 2;
  static constexpr int kSensorGpu = 0;
  static constexpr unsigned long long kPowerCapped = 0x4;
  /// Hardware slowdown, software and hardware thermal slowdown, hardware power brake.
  static constexpr unsigned long long kThrottled = 0x8 | 0x20 | 0x40 | 0x80;

  std::string driver_version;  ///< "580.95.05"
  DynamicLibrary library;

  /// Initialises NVML for the lifetime of the process.
  static Nvml load(const DynamicLibrary& library);
};

}  // namespace ptxloom::cuda
