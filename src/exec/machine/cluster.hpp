// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "exec/judge/judge.hpp"
#include "exec/machine/block.hpp"
#include "exec/machine/grid.hpp"
#include "exec/machine/state.hpp"
#include "exec/watch/tracer.hpp"
#include "exec/watch/traffic.hpp"

// The thread blocks of a cluster: they run together and reach each other's shared memory. Their warps take
// turns: each runs until it waits, exits, tests a barrier in memory in vain, or has used its share of steps.
// If no warp can run and some wait, or all that run only test in vain, that is a deadlock, which is reported
// with who waits for what.
namespace ptxloom::exec {

class Work;

class Cluster {
 public:
  /// `counts`: by operation, or empty; `work`: shared with other clusters.
  Cluster(const Grid& grid, Work& work, Counts& counts);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Starts cluster number `index` of the grid.
  void start(std::uint64_t index);
  /// It has ended, and those before it have been here.
  void join() {
    if (judge_) judge_->join();
  }
  /// Gives every warp a turn of at most `share` steps; false when all threads have exited.
  bool turn(std::uint64_t share);
  /// Whether all its warps wait, and some of them for words in memory that others have to change.
  bool spins() const;

  /// Copies in flight that may complete at any time do so if `should_complete` returns true: it is asked for
  /// each.
  void complete_copies(const std::function<bool()>& should_complete);

  const Grid& grid() const { return grid_; }
  Work& work() const { return work_; }
  std::uint64_t index() const { return index_; }
  std::deque<Block>& blocks() { return blocks_; }
  const std::deque<Block>& blocks() const { return blocks_; }
  Block& block(std::uint32_t rank) { return blocks_[rank]; }
  /// What a family keeps for the cluster (state.hpp).
  template <class T>
  T& state() {
    return states_.get<T>(*this);
  }
  States& states() { return states_; }
  const States& states() const { return states_; }
  /// Null if judging is off.
  Judge* judge() const { return judge_.get(); }
  /// Null if nothing is counted; tracer(): null if nothing is traced.
  Traffic* traffic() const { return traffic_.get(); }
  Tracer* tracer() const { return tracer_.get(); }
  /// Something happened that a thread may be waiting for.
  void note_progress() { progress_ = true; }

 private:
  void run(Warp& warp, std::uint64_t share);
  void run_others(const Warp& faulting);
  void turn_at_random();
  void give(Warp& warp, std::uint64_t steps);
  std::vector<Warp*> shuffled_warps();
  void finish();
  void check_limit(const Warp& warp) const;

  const Grid& grid_;
  Work& work_;
  std::uint64_t index_ = 0;
  std::unique_ptr<Judge> judge_;
  std::unique_ptr<Traffic> traffic_;
  std::unique_ptr<Tracer> tracer_;
  std::deque<Block> blocks_;
  States states_;
  std::mt19937_64 random_;              // of Launch::schedule
  std::vector<std::uint64_t> delayed_;  // by warp: turns that it misses in a random order
  bool ran_ = false;                    // in this turn
  bool progress_ = false;
  std::uint64_t vain_turns_ = 0;
};

/// Throws a fault ("barrier-deadlock", "mbarrier-deadlock") that says who waits for what.
[[noreturn]] void report_deadlock(Cluster& cluster);
/// Throws a fault ("spin-deadlock"): nobody changes what the cluster spins on.
[[noreturn]] void report_spinning(Cluster& cluster);

}  // namespace ptxloom::exec
