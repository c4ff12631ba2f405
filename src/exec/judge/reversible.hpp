// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "exec/judge/order.hpp"
#include "exec/machine/fault.hpp"
#include "ptxloom/schedule.hpp"

// Operations of different warps at one place that only the schedule ordered: strong accesses to a word, and
// operations on an mbarrier, of which one changes it. They do not race, but what the kernel does may depend
// on their order, and so may what comes before what. Each such pair becomes a schedule that reverses it
// (Reversals).
namespace ptxloom::exec {

class Cluster;

/// The last operations of warps at a place.
struct PlaceUses {
  struct Use {
    std::uint64_t cluster = 0, step = 0;
    std::uint32_t operation = 0;
    Time time = 0;
    Party party = 0;
    std::uint8_t lane = 0;
    bool changes = false;
  };
  std::unordered_map<const void*, std::vector<Use>> by_place;
};

class ReversiblePairs {
  using Use = PlaceUses::Use;

 public:
  ReversiblePairs(Cluster& cluster, Order& order) : cluster_(&cluster), order_(&order) {}
  /// `grid`: of global memory, if the clusters of the grid take turns; null: they do not wait for each other.
  void start(PlaceUses* grid);
  /// Before the operation has an effect on what is known of other threads.
  void uses(const Actor& actor, const void* place, bool changes, bool global);
  /// The actor tests an mbarrier in vain that counts copies in flight.
  void tests_too_early(const Actor& actor);

 private:
  Use use_of(const Actor& actor, bool changes) const;
  bool is_before(const Use& before, const Use& now) const;
  void note(const Use& first, const Delay& until) const;

  Cluster* cluster_;
  Order* order_;
  PlaceUses own_;
  PlaceUses* grid_ = nullptr;
};

}  // namespace ptxloom::exec
