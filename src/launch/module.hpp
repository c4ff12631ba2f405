// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "launch/context.hpp"
#include "target/launch_limits.hpp"

namespace ptxloom {

struct DeviceModule::State {
  std::shared_ptr<DeviceContext::State> context;
  CUmodule module = nullptr;

  State(std::shared_ptr<DeviceContext::State> owner, std::span<const std::byte> cubin);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

struct Function::State {
  std::shared_ptr<DeviceModule::State> module;
  CUfunction function = nullptr;
  KernelSignature signature{};
  FunctionInfo info{};
  target::Size3 required_cluster{};  // .reqnctapercluster, in thread blocks; 0 or 1: none
  // What the kernel was opted in for so far: more than 48 KB of dynamic shared memory, clusters above 8.
  std::mutex opt_in{};
  std::atomic<std::uint32_t> shared_allowed = 0;
  std::atomic<bool> large_clusters_allowed = false;

  DeviceContext::State& context() const { return *module->context; }
  const cuda::Driver& driver() const { return context().driver; }
  int attribute(CUfunction_attribute which) const;
  void set_attribute(CUfunction_attribute which, int value) const;
};

}  // namespace ptxloom
