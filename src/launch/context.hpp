// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/driver.hpp"
#include "ptxloom/launch.hpp"

// Shared state of everything on a device. A fault is reported by a later call, so the context keeps the names
// of the kernels queued since it was last idle, for the error to name them.
namespace ptxloom {

class LaunchTrail {
 public:
  void add(const std::string& kernel);
  void clear();
  /// "`a`", or "one of `a`, `b`".
  std::string describe() const;

 private:
  static constexpr std::size_t kLongest = 16;
  mutable std::mutex mutex_;
  std::vector<std::string> kernels_;
};

struct DeviceContext::State {
  State(Libraries libraries, int ordinal);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  cuda::CurrentContext make_current() const { return {driver, context}; }
  /// Throws for anything but success: "device-fault" if a kernel caused it, else "cuda-error".
  void check(CUresult result, std::string_view doing) const {
    if (result != CUDA_SUCCESS) fail(result, doing);
  }
  [[noreturn]] void fail(CUresult result, std::string_view doing) const;

  Libraries libraries;
  const cuda::Driver& driver;
  DeviceInfo info;
  CUdevice device = 0;
  CUcontext context = nullptr;
  LaunchTrail trail;
};

}  // namespace ptxloom
