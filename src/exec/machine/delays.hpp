// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ptxloom/schedule.hpp"

// Carries out the delays of a schedule. Used by one host thread.
namespace ptxloom::exec {

class Cluster;
class Warp;
struct Operation;

class Delays {
 public:
  explicit Delays(const Schedule& schedule);

  bool any() const { return !delays_.empty(); }
  /// Of `steps`, those that the warp may execute now; 0 while it waits.
  std::uint64_t most(Warp& warp, std::uint64_t steps);
  /// Releases the warps that wait until this warp executes this operation; if there are any, its turn ends.
  void release_waiters(Warp& warp, const Operation& op);
  /// The cluster's warp whose wait has just ended, if any: it goes on at once.
  Warp* take_released_warp(const Cluster& cluster);

 private:
  struct State {
    Delay delay;
    Warp* waits = nullptr;  // at its step
    std::uint64_t turns = 0;
    bool over = false;
  };
  std::vector<State> delays_;
  Warp* released_ = nullptr;
};

/// The warp's number in its cluster.
std::uint32_t number_in_cluster(const Warp& warp);

}  // namespace ptxloom::exec
