// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "exec/judge/order.hpp"
#include "exec/machine/fault.hpp"
#include "ptxloom/findings.hpp"

// A kernel that waits for the grids before it (griddepcontrol.wait), although it reads nothing of global
// memory after that: what they write, it may have read too early (PTX ISA 9.7.13.13). Which memory they
// write is not known, so a kernel that reads some before the wait and some after it is left alone. What the
// kernel has written itself it may read at any time.
namespace ptxloom::exec {

class Cluster;
class GlobalRaces;

/// What the clusters of a grid have read.
struct EarlyReads {
  Findings found;                   ///< reads before the wait
  std::atomic<bool> waited{false};  ///< a thread has waited
  std::atomic<bool> late{false};    ///< there were reads after it
  /// The grid has ended.
  void report(Findings& findings) const {
    if (waited && !late) findings.add_all(found);
  }
};

class GridWaits {
 public:
  GridWaits(Cluster& cluster, const Order& order, GlobalRaces& global)
      : cluster_(&cluster), order_(&order), global_(&global) {}
  ~GridWaits() { add_counts(); }
  GridWaits(const GridWaits&) = delete;
  GridWaits& operator=(const GridWaits&) = delete;

  void start();
  void waits(const Warp& warp, Mask lanes);
  void reads(const Actor& actor, const std::byte* memory, std::uint32_t bytes);

 private:
  struct Wait {
    Party party;
    Mask lanes;
    Time time;
  };
  struct Repeated {
    Findings::Key key;
    std::uint64_t times = 0;
  };
  bool is_after(const Actor& actor) const;
  Findings::Key report(const Actor& actor);
  void add_counts();

  Cluster* cluster_;
  const Order* order_;
  GlobalRaces* global_;
  EarlyReads* reads_ = nullptr;  // null: nothing is looked for
  std::vector<Wait> waits_;      // the first of each warp and lanes
  // How often each instruction has read before the wait after its first time, which is reported: other host
  // threads report to the same list.
  std::unordered_map<const Operation*, Repeated> repeated_;
};

}  // namespace ptxloom::exec
