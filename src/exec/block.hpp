// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "exec/barrier.hpp"
#include "exec/grid.hpp"
#include "exec/warp.hpp"

// A block of threads: its warps, shared memory and barriers. Warps take turns: each runs until it waits,
// ends, or has had its share of steps. If none can run and some wait, they wait forever, which is reported
// with who waits where.
namespace ptxloom::exec {

class Block {
 public:
  /// `executed` counts by operation, or is null.
  Block(const Grid& grid, std::uint64_t* executed);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// Runs block number `index` of the grid from start to end.
  void run(std::uint64_t index);

  const Grid& grid() const { return grid_; }
  const Index3& index() const { return index_; }
  std::uint64_t linear_index() const { return linear_index_; }
  std::vector<std::byte>& shared() { return shared_; }
  const std::deque<Warp>& warps() const { return warps_; }
  std::uint64_t* executed() const { return executed_; }

  /// Threads that have not exited.
  std::uint32_t live_threads() const;
  Barriers& barriers() { return barriers_; }

 private:
  [[noreturn]] void report_deadlock() const;
  void check_limit(const Warp& warp) const;

  const Grid& grid_;
  std::uint64_t* executed_;
  std::uint64_t linear_index_ = 0;
  Index3 index_{};
  std::vector<std::byte> shared_;
  std::deque<Warp> warps_;
  Barriers barriers_;
};

}  // namespace ptxloom::exec
