// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "exec/machine/lanes.hpp"
#include "exec/machine/value.hpp"

// The calls that each thread of a warp is in, and the thread's stack pointer.
namespace ptxloom::exec {

class CallStack {
 public:
  struct Frame {
    std::uint32_t callee = 0;         ///< index into Code::callees
    std::uint32_t return_to = 0;      ///< an operation
    std::uint64_t stack_pointer = 0;  ///< of the caller
    std::uint64_t base = 0;           ///< of what a function that recurses has in local memory
    /// The registers of the function's call that this one interrupts.
    std::vector<Value> registers = {};
  };
  /// The call that the thread most recently returned from.
  struct Returned {
    std::uint32_t callee = 0;
    std::uint64_t base = 0;
    std::vector<Value> results = {};  ///< in registers, of a function that recurses
  };

  /// No thread is in a function, and all stacks are empty.
  void reset(std::uint64_t top) {
    for (std::vector<Frame>& frames : frames_) frames.clear();
    stack_pointers_.fill(top);
  }
  std::vector<Frame>& frames(int lane) { return frames_[static_cast<std::size_t>(lane)]; }
  /// The base of the frame that the thread is in.
  std::uint64_t base(int lane) const {
    const std::vector<Frame>& frames = frames_[static_cast<std::size_t>(lane)];
    return frames.empty() ? 0 : frames.back().base;
  }
  /// The thread's stack pointer: an address in local memory.
  std::uint64_t& stack_pointer(int lane) { return stack_pointers_[static_cast<std::size_t>(lane)]; }
  Returned& returned(int lane) { return returned_[static_cast<std::size_t>(lane)]; }

 private:
  std::array<std::vector<Frame>, kLanes> frames_;
  std::array<std::uint64_t, kLanes> stack_pointers_{};
  std::array<Returned, kLanes> returned_{};
};

}  // namespace ptxloom::exec
