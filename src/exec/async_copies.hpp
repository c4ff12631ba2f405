// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/lanes.hpp"

// cp.async as the PTX ISA allows it to behave at its worst: the destination is poisoned when the copy is
// issued and filled only by a wait of the same thread that covers its group. Code that forgets the wait, or
// waits for too few groups, reads poison every time, where a GPU would be right most of the time.
namespace ptxloom::exec {

class AsyncCopies {
 public:
  static constexpr std::size_t kMaxBytes = 16;

  void clear();
  /// `data` past `read` bytes is zero.
  void issue(int lane, std::byte* to, const std::byte* from, std::size_t bytes, std::size_t read);
  /// Closes the group of each lane.
  void commit(Mask lanes);
  /// Lets all but the latest `pending` groups of each lane arrive.
  void wait(Mask lanes, std::uint32_t pending);
  /// Lets everything arrive, committed or not.
  void wait_all(Mask lanes);

 private:
  struct Copy {
    std::byte* to;
    std::uint32_t group;
    std::uint8_t lane, bytes;
    std::array<std::byte, kMaxBytes> data;
  };
  template <class Covered>
  void land(Covered covered);

  std::vector<Copy> copies_;                       // in order of issue
  std::array<std::uint32_t, kLanes> committed_{};  // groups closed, by lane
};

}  // namespace ptxloom::exec
