// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "exec/machine/grid.hpp"
#include "exec/machine/state.hpp"
#include "exec/machine/warp.hpp"

// A thread block: its warps, its shared memory, and what families of instructions keep for it.
namespace ptxloom::exec {

class Cluster;

class Block {
 public:
  Block(Cluster& cluster, std::uint32_t rank);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// Poisons memory and registers and puts all threads at the start, as this thread block of the grid.
  void start(const Index3& index);

  Cluster& cluster() const { return cluster_; }
  const Grid& grid() const { return grid_; }
  /// The rank in the cluster.
  std::uint32_t rank() const { return rank_; }
  const Index3& index() const { return index_; }
  std::vector<std::byte>& shared() { return shared_; }
  const std::vector<std::byte>& shared() const { return shared_; }
  std::deque<Warp>& warps() { return warps_; }
  const std::deque<Warp>& warps() const { return warps_; }

  /// Threads that have not exited.
  std::uint32_t live_threads() const;
  bool ended() const { return live_threads() == 0; }
  /// What a family keeps for the thread block (state.hpp).
  template <class T>
  T& state() {
    return states_.get<T>(*this);
  }
  States& states() { return states_; }
  const States& states() const { return states_; }

 private:
  Cluster& cluster_;
  const Grid& grid_;
  std::uint32_t rank_;
  Index3 index_{};
  std::vector<std::byte> shared_;
  std::deque<Warp> warps_;
  States states_;
};

}  // namespace ptxloom::exec
