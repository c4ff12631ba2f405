// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "insn/build.hpp"
#include "ptxloom/launch.hpp"

// Runs the kernels of insn on a GPU and reads the clocks that their warps stored.
namespace ptxloom::insn {

/// Every kernel has the parameters in, out, slots, times, rounds, zero.
KernelSignature signature_of(std::string name);

/// What a launch is made of.
struct LaunchShape {
  int blocks = 1;
  int warps = 1;  ///< of a thread block
  int rounds = 0;
  int lanes = kLanes;        ///< of each warp; fewer only with one warp
  std::uint64_t memory = 0;  ///< address that the kernel gets instead of the slots
  bool clear = false;        ///< the memory begins with zeros in each launch
  /// A ring of addresses `ring_stride` apart, of which each launch begins at another; 0: there is none.
  std::uint64_t ring_bytes = 0, ring_stride = 0;
};

/// How the clocks of a launch are combined.
struct Clocks {
  double cycles = 0;       ///< from the first start to the last end on an SM: the median over SMs
  double nanoseconds = 0;  ///< of the launch, by events
  int sms = 0;             ///< that had the expected number of warps
};

enum class Data : std::uint8_t { plain, zero, random };

class Device {
 public:
  explicit Device(const DeviceContext& context);

  /// Fills operands and memory for a row.
  void prepare(const Row& row, Data data);
  /// What kernels find at `in`.
  void set_operands(std::span<const std::byte> bytes) { in_.upload(bytes); }
  /// One launch. `warps_per_sm`: SMs with another number are left out; 0: none is.
  Clocks run(const Function& function, const LaunchShape& shape, int warps_per_sm) const;

  const DeviceInfo& info() const { return context_.info(); }
  const DeviceContext& context() const { return context_; }

 private:
  std::uint64_t memory_for(const LaunchShape& shape) const;

  DeviceContext context_;
  Stream stream_;
  Event begin_, end_;
  DeviceMemory in_, out_, slots_, times_;
  mutable std::uint64_t launches_ = 0;
};

}  // namespace ptxloom::insn
