// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "exec/machine/lanes.hpp"

// The return address of each call of each thread of a warp, and the thread's stack pointer.
namespace ptxloom::exec {

class CallStack {
 public:
  struct Frame {
    std::uint32_t callee = 0;         ///< index into Code::callees
    std::uint32_t return_to = 0;      ///< an operation
    std::uint64_t stack_pointer = 0;  ///< of the caller
  };

  /// No thread is in a function, and all stacks are empty.
  void reset(std::uint64_t top) {
    for (std::vector<Frame>& frames : frames_) frames.clear();
    stack_pointers_.fill(top);
  }
  std::vector<Frame>& frames(int lane) { return frames_[static_cast<std::size_t>(lane)]; }
  /// The thread's stack pointer: an address in local memory.
  std::uint64_t& stack_pointer(int lane) { return stack_pointers_[static_cast<std::size_t>(lane)]; }
  /// The function that the thread most recently returned from.
  std::uint32_t& returned(int lane) { return returned_[static_cast<std::size_t>(lane)]; }

 private:
  std::array<std::vector<Frame>, kLanes> frames_;
  std::array<std::uint64_t, kLanes> stack_pointers_{};
  std::array<std::uint32_t, kLanes> returned_{};
};

}  // namespace ptxloom::exec
