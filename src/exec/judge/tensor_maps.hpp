// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "exec/judge/global_races.hpp"
#include "exec/judge/order.hpp"
#include "exec/machine/fault.hpp"

// Tensor maps in global memory that the kernel itself writes. TMA reads them through the tensormap proxy, so
// a release has to follow the write, fence.proxy.tensormap::generic.release or that of
// tensormap.cp_fenceproxy, and fence.proxy.tensormap::generic.acquire of the map has to come between that and
// its use (PTX ISA 8.6, 9.7.13.4). The scope of each includes the other's thread. A release covers what its
// threads know of by then; an acquire counts for its threads and for those that come after it. Found only
// when findings are collected, since the log of global memory knows the writes. That a release is missing is
// found within a cluster only; the scope of tensormap.cp_fenceproxy is known in all of them. A copy uses its
// map until it has read all of its source, as an mbarrier or wait_group.read tells: a map that is written
// before is a race as any other. Nothing tells when a prefetch of a tile has read its map: it may not be
// changed after that.
namespace ptxloom::exec {

class Cluster;

class TensorMaps {
 public:
  static constexpr std::uint32_t kBytes = 128;

  TensorMaps(Cluster& cluster, Order& order, GlobalRaces& global)
      : cluster_(&cluster), order_(&order), global_(&global) {}
  void start();

  void release(const Warp& warp, const Operation& op, Mask lanes);
  void acquire(const Actor& actor, const std::byte* map);
  /// A copy is about to use the map.
  void use(const Actor& actor, const std::byte* map);
  /// A prefetch of a tile uses the map.
  void prefetch(const Actor& actor, const std::byte* map) {
    if (global_->on()) global_->prefetch_uses(actor, map, kBytes);
  }
  /// A copy has begun to. `counted`: by an mbarrier. Returns a number for who has written the map by now.
  std::uint64_t use_begins(const Actor& actor, const std::byte* map, bool counted) {
    if (!global_->on()) return 0;
    global_->copy_uses(actor, map, kBytes, counted);
    return writes_of(map).version;
  }
  /// It has read all of its source, and `version` is what use_begins has returned.
  void use_ends(const Actor& actor, const std::byte* map, bool counted, std::uint64_t version) {
    if (global_->on() && !counted)
      global_->copy_has_used(actor, map, kBytes, writes_of(map).version != version);
  }

 private:
  using Write = std::array<std::uint64_t, 3>;  // its time, cluster and party
  /// Who wrote a map last: the same number for the same writes, and one of them.
  struct Writes {
    std::uint64_t version = 0;  // 0: the kernel did not write it
    std::set<Write> all = {};
    GlobalTouch last = {};
  };
  struct Acquire {
    const Warp* warp;
    Mask lanes;
    Time time;
    Writes writes;
  };
  struct Release {
    Party party;
    Mask lanes;
    Scope scope;
    Time time;
    Past past;  // what they have released
  };

  Party party_of(const Warp& warp) const;
  const Variant& variant_of(const Operation& op) const;
  /// The smallest scope that includes the actor and who wrote.
  Scope distance(const Actor& actor, const GlobalTouch& write) const;
  bool is_released(const Actor& actor, const GlobalTouch& write) const;
  bool all_released(const Actor& actor, const std::byte* map) const;
  static Write key_of(const GlobalTouch& write) { return {write.time, write.cluster, write.party}; }
  Writes writes_of(const std::byte* map) const;
  /// Whether what one of these lanes did at `time` comes before what the actor does.
  bool knows(const Actor& actor, Party other, Mask lanes, Time time) const;
  /// Whether an acquire for which the condition `holds` comes before what the actor does.
  template <class F>
  bool any_acquire(const Actor& actor, const std::byte* map, F holds) const;
  bool has_acquired(const Actor& actor, const std::byte* map, std::uint64_t version) const;

  Cluster* cluster_;
  Order* order_;
  GlobalRaces* global_;
  std::vector<Release> released_;  // the last of each group of lanes, by scope
  std::map<const std::byte*, std::vector<Acquire>> acquired_;
};

}  // namespace ptxloom::exec
