// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/judge/global_log.hpp"
#include "exec/judge/order.hpp"
#include "exec/machine/fault.hpp"
#include "exec/memory/address.hpp"

// Data races in global memory, within a launch: by threads of one thread block, of a cluster, and of others.
// Accesses that are morally strong do not race with each other (scope.hpp). Found only when findings are
// collected: it takes time and memory. Of the reads since the last write two are remembered.
namespace ptxloom::exec {

class Cluster;

class GlobalRaces {
  using Group = GlobalPage::Group;

 public:
  GlobalRaces(Cluster& cluster, Order& order) : cluster_(&cluster), order_(&order) {}
  /// Null: races in global memory are not looked for.
  void start(GridLog* log);
  bool on() const { return log_ != nullptr; }
  /// The cluster has ended. If clusters keep logs of their own, this one is compared with those before.
  void join();
  /// Calls f(touch) with the last writes to the bytes that this cluster knows of.
  template <class F>
  void for_writes(const std::byte* memory, std::uint32_t bytes, F f) const {
    if (log_ == nullptr) return;
    log_->for_groups(memory, bytes, [&](const Group& group, std::uint32_t) {
      if (group.write().time != 0) f(group.write());
    });
  }
  /// Whether the launch has written all of it, as far as this cluster knows.
  bool wrote_all(const std::byte* memory, std::uint32_t bytes) const;
  /// What reports call it: "buffer 2 + 0x40".
  std::string place(const std::byte* memory) const;

  void access(const Actor& actor, const std::byte* memory, const Reach& reach);
  /// A copy that reads it is issued; returns when, to be passed to the functions below once it has read.
  Time copy_reads(const Actor& actor, const std::byte* memory, std::uint32_t bytes, bool by_proxy);
  /// A bulk copy that begins uses its tensor map until it has read all of its source. `counted`: by an
  /// mbarrier.
  void copy_uses(const Actor& actor, const std::byte* map, std::uint32_t bytes, bool counted);
  /// It has read its source: its thread has waited for that. `changed`: the map was written since it began.
  void copy_has_used(const Actor& actor, const std::byte* map, std::uint32_t bytes, bool changed);
  /// A prefetch uses a tensor map, and nothing tells when that is over.
  void prefetch_uses(const Actor& actor, const std::byte* map, std::uint32_t bytes);
  /// A copy through the async proxy, of one part of memory or more.
  void bulk_begins(const Actor& actor);
  void bulk_has_read(const Actor& actor, Time issued);
  /// cp.async.
  void small_copy_lands(const Actor& actor, Time issued);
  /// A copy that writes is issued; it has written. A reduction is strong: several may reduce into one place.
  void copy_begins(const Actor& actor, const std::byte* memory, std::uint32_t bytes, AccessKind kind);
  void copy_ends(const Actor& actor, const std::byte* memory, std::uint32_t bytes, AccessKind kind, Party by);

  // For strong_writes.hpp.
  bool meet(const GlobalTouch& now, const GlobalTouch& before) const;  ///< morally strong
  bool is_before(const GlobalTouch& before, const GlobalTouch& now) const;
  bool decides(const GlobalTouch& touch) const;  ///< a strong read of what decides something

  /// Who did it; null if its cluster has ended, or runs elsewhere.
  const Warp* warp_of(const GlobalTouch& touch) const;

 private:
  struct Here {
    const Actor& actor;
    GlobalTouch touch;
    const std::byte* memory;
    const char* does;
    bool updates = false;  // an atomic operation
  };
  GlobalTouch touch_of(const Actor& actor, AccessKind kind) const;
  GlobalTouch reducing(GlobalTouch touch) const;
  bool is_in_flight(const GlobalTouch& read) const;
  bool ordered(const GlobalTouch& now, const GlobalTouch& before) const;
  bool has_observed(const GlobalTouch& now, const Group& group) const;
  bool relies_on_volatile(const GlobalTouch& now, const GlobalTouch& write) const;
  bool over_before(const GlobalTouch& now, const GlobalTouch& read) const;
  void check_read(const Here& here, const Group& group);
  void check_write(const Here& here, const Group& group);
  bool is_unfenced(const GlobalTouch& now, const GlobalTouch& write) const;
  void check_proxy(const Here& here, const Group& group);
  void check_proxy(const Here& here, const GlobalTouch& write);
  void visit(const Here& here, const Group& group, bool writes);
  void replay(const GlobalTouch& touch, bool writes, const Group& group, const std::byte* memory);
  void note_read(const GlobalTouch& now, const Group& group) const { note_read(now, now, group); }
  void note_read(const GlobalTouch& now, const GlobalTouch& kept, const Group& group) const;
  void note_write(const GlobalTouch& now, const Group& group, bool updates = false) const;
  void forget_reads(const Here& here, const Group& group);
  void check_forgotten(const Here& here);
  void race(const Here& here, const GlobalTouch& other, const char* did);
  void under_way(const Here& here, const GlobalTouch& copy, const char* does);
  void find(const Here& here, std::string_view code, const GlobalTouch& other, const char* hint,
            const std::function<std::string()>& what);
  std::string describe(const GlobalTouch& touch) const;

  Cluster* cluster_;
  Order* order_;
  GlobalLog* log_ = nullptr;
  GridLog* grid_ = nullptr;
  GlobalLog own_;  // if clusters keep logs of their own
  /// Reads that the last instruction has overwritten: they count for other lanes that write with it.
  struct Forgotten {
    const std::byte* memory;
    GlobalTouch read, other_read;
  };
  std::vector<Forgotten> forgotten_;
  GlobalTouch forgotten_by_;
  std::vector<GlobalTouch> in_flight_;  // reads of copies through the async proxy
  std::vector<Time> landed_;            // by thread: when it issued the last cp.async that has landed
  bool found_ = false;                  // by the current access
  bool joining_ = false;                // what the cluster did is judged already
};

}  // namespace ptxloom::exec
