// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "exec/control/cluster_barrier.hpp"
#include "exec/judge/judge.hpp"
#include "exec/machine/block.hpp"
#include "exec/machine/grid.hpp"
#include "exec/watch/tracer.hpp"
#include "exec/watch/traffic.hpp"

// The blocks that run together and reach each other's shared memory. Their warps take turns: each runs until
// it waits, ends, looks in vain at a barrier in memory, or has had its share of steps. If none can run and
// some wait, or all that run only look in vain, they do so forever, which is reported with who waits for
// what.
namespace ptxloom::exec {

class Work;

class Cluster {
 public:
  /// `counts` are by operation, or empty; `work` is what other clusters take from too.
  Cluster(const Grid& grid, Work& work, Counts& counts);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Begins cluster number `index` of the grid.
  void start(std::uint64_t index);
  /// A turn of every warp, of at most `share` steps; false when all threads have ended.
  bool turn(std::uint64_t share);

  const Grid& grid() const { return grid_; }
  Work& work() const { return work_; }
  std::uint64_t index() const { return index_; }
  std::deque<Block>& blocks() { return blocks_; }
  const std::deque<Block>& blocks() const { return blocks_; }
  Block& block(std::uint32_t rank) { return blocks_[rank]; }
  ClusterBarrier& barrier() { return barrier_; }
  const ClusterBarrier& barrier() const { return barrier_; }
  /// Null where judging is off.
  Judge* judge() const { return judge_.get(); }
  /// Null where nothing is counted; traced: where nothing is.
  Traffic* traffic() const { return traffic_.get(); }
  Tracer* tracer() const { return tracer_.get(); }
  /// Something came nearer that a thread may wait for.
  void note_progress() { progress_ = true; }

 private:
  void run(Warp& warp, std::uint64_t share);
  void finish();
  void check_limit(const Warp& warp) const;

  const Grid& grid_;
  Work& work_;
  std::uint64_t index_ = 0;
  std::unique_ptr<Judge> judge_;
  std::unique_ptr<Traffic> traffic_;
  std::unique_ptr<Tracer> tracer_;
  std::deque<Block> blocks_;
  ClusterBarrier barrier_;
  bool progress_ = false;
  std::uint64_t vain_turns_ = 0;
};

/// Throws the fault "barrier-deadlock" or "mbarrier-deadlock" that says who waits for what.
[[noreturn]] void report_deadlock(Cluster& cluster);

}  // namespace ptxloom::exec
