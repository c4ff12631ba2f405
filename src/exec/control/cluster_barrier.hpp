// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/machine/lanes.hpp"
#include "exec/machine/operation.hpp"

// barrier.cluster (PTX ISA 9.7.13.3): every thread of the cluster that has not exited arrives once, and may
// then wait for the others.
namespace ptxloom::exec {

class Cluster;

class ClusterBarrier {
 public:
  explicit ClusterBarrier(Cluster& cluster) : cluster_(&cluster) {}
  void reset();
  void arrive(Warp& warp, const Operation& op, Mask lanes);
  /// Parks lanes whose phase is not complete.
  void wait(Warp& warp, const Operation& op, Mask lanes);
  /// Call after threads have exited.
  void recheck();
  /// The lanes of a warp that wait, and the live ones that have not arrived.
  Mask waiting(const Warp& warp) const { return state(warp).waiting; }
  Mask absent(const Warp& warp) const;

 private:
  struct State {
    Mask arrived = 0;  // in this phase
    Mask passed = 0;   // in a completed phase, without having waited yet
    Mask waiting = 0;
  };
  std::size_t number_of(const Warp& warp) const;
  State& state(const Warp& warp) { return warps_[number_of(warp)]; }
  const State& state(const Warp& warp) const { return warps_[number_of(warp)]; }

  Cluster* cluster_;
  std::vector<State> warps_;  // of all thread blocks, by rank
};

}  // namespace ptxloom::exec
