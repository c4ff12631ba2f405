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
  /// The warp executes an operation that others may wait for. It ends its turn if one of them does.
  void executes(Warp& warp, const Operation& op);
  /// The cluster's warp whose wait has just ended, if any: it goes on at once.
  Warp* take_freed(const Cluster& cluster);

 private:
  struct State {
    Delay delay;
    Warp* waits = nullptr;  // at its step
    std::uint64_t turns = 0;
    bool over = false;
  };
  std::vector<State> delays_;
  Warp* freed_ = nullptr;
};

/// The warp's number in its cluster.
std::uint32_t number_in_cluster(const Warp& warp);

}  // namespace ptxloom::exec
