// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exec/machine/lanes.hpp"
#include "exec/machine/operation.hpp"
#include "exec/machine/state.hpp"

// barrier.cluster (PTX ISA 9.7.13.3): every thread of the cluster that has not exited arrives once, and may
// then wait for the others.
namespace ptxloom::exec {

class Cluster;

class ClusterBarrier final : public State {
 public:
  explicit ClusterBarrier(Cluster& cluster) : cluster_(&cluster) {}
  void reset() override;
  /// `relaxed`: it orders no memory accesses.
  void arrive(Warp& warp, const Operation& op, Mask lanes, bool relaxed);
  /// Parks lanes whose phase is not complete.
  void wait(Warp& warp, const Operation& op, Mask lanes);
  void exited() override { recheck(); }
  void report(std::vector<Wait>& waits) const override;

 private:
  struct Arrivals {
    Mask arrived = 0;  // in this phase
    Mask passed = 0;   // in a completed phase, without having waited yet
    Mask waiting = 0;
  };
  void recheck();
  std::string describe() const;
  /// Live lanes of the warp that have not arrived.
  Mask absent(const Warp& warp) const;
  std::size_t number_of(const Warp& warp) const;
  Arrivals& arrivals_of(const Warp& warp) { return warps_[number_of(warp)]; }
  const Arrivals& arrivals_of(const Warp& warp) const { return warps_[number_of(warp)]; }

  Cluster* cluster_;
  std::vector<Arrivals> warps_;  // of all thread blocks, by rank
};

}  // namespace ptxloom::exec
