// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/judge/order.hpp"
#include "exec/judge/shared_log.hpp"
#include "exec/machine/fault.hpp"
#include "exec/memory/address.hpp"

// A data race: two accesses to a byte of shared memory by different threads, at least one of them a write,
// that nothing orders (order.hpp) and that are not morally strong (scope.hpp). Asynchronous copies write, or
// read, from their issue to their wait. Copies through the async proxy (bulk and tensor copies, wgmma) may
// read what threads wrote only after a fence.proxy.async; where findings are collected, they may also
// overwrite what threads accessed only after one. Global memory: global_races.hpp.
//
// Every report is a race, or relies on an order that PTX does not promise. Missed are: what order.hpp is
// silent about; of the writes of a byte all but the last, and the last weak one before strong ones; in
// clusters of more than 64 warps, all reads but the last two.
namespace ptxloom::exec {

class Cluster;

class Races {
 public:
  explicit Races(Cluster& cluster) : cluster_(&cluster) {}
  void start();
  Order& order() { return order_; }
  Party party_of(const Warp& warp) const;

  /// Whether something was found.
  bool read(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, AccessKind kind);
  /// `updates`: by an atomic operation.
  bool write(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, AccessKind kind,
             bool updates = false);

  /// A copy that reads is issued; it has read. `by` is the copies' party if an mbarrier signals the end, else
  /// the party of the warp that waited for its own copy.
  void read_begins(const Actor& actor, const SharedPlace& place, std::uint32_t bytes);
  void read_ends(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, Party by);
  /// A copy that writes is issued; its data has arrived. A reduction is strong: several may reduce into one
  /// place.
  void write_begins(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, AccessKind kind);
  /// The copy that was issued then has counted on its mbarrier: what its issue did there is over, as those
  /// learn who wait.
  void count_ends(const Actor& actor, const SharedPlace& barrier, Time issued);
  void write_ends(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, AccessKind kind,
                  Party by);
  /// The warpgroup of an actor reads an operand of wgmma: units of 16 bytes; wgmma_operands.hpp remembers it.
  void check_wgmma(const Actor& actor, std::span<const std::uint32_t> units);

  /// All threads of the thread block have exited. Others must be done with its memory.
  void block_exits(const Block& block);
  void mark_barrier(const SharedPlace& place, bool is_barrier);
  /// The actor has initialised an mbarrier, which fence.mbarrier_init of the same lane shows to the cluster.
  void hide_barrier(const Actor& actor, const SharedPlace& place);
  void show_barriers(const Warp& warp, Mask lanes);

  // For strong_writes.hpp.
  bool meet(const Touch& now, const Touch& before) const;  ///< neither is before the other, which is allowed
  bool is_before(const Touch& before, const Touch& now) const;
  bool decides(const Touch& touch) const;  ///< a strong read of what decides something

 private:
  /// An access being judged.
  struct Here {
    const Actor& actor;
    Touch touch;
    std::uint32_t offset = 0;
    const char* does = "reads";
    std::uint32_t rank = 0;  // of the thread block whose memory it is
  };

  Touch touch_of(const Actor& actor, AccessKind kind) const;
  Touch in_flight(Touch touch) const;
  bool relies_on_volatile(const Touch& now, const Touch& write) const;
  bool ordered(const Touch& now, const Touch& before) const;
  /// `writers`: the lanes, if several wrote it.
  bool after_write(const Touch& now, const Touch& write, Mask writers) const;
  bool has_observed(const Touch& now, const SharedCell& cell) const;
  /// The same, of a read or the write of a copy that a write follows.
  bool over_before(const Touch& now, const Touch& before) const;
  void check_read(const Here& here, const SharedCell& cell);
  void check_before_strong(const Here& here, const SharedCell& cell);
  void check_write(const Here& here, const SharedCell& cell);
  bool is_unfenced(const Here& here, const Touch& touch) const;
  std::optional<Touch> unfenced_warp(const Here& here, std::uint64_t warps, Touch touch, Time first) const;
  std::optional<Touch> unfenced_write(const Here& here, const SharedCell& cell) const;
  std::optional<Touch> unfenced_read(const Here& here, const SharedCell& cell) const;
  void check_proxy(const Here& here, const SharedCell& cell);
  void check_by_proxy(const Actor& actor, const SharedPlace& place, std::uint32_t bytes);
  bool outlives(const Block& block, const Touch& access, bool reads) const;
  void check_started(const Here& here, const Block& block);
  void check_refill(const Here& here, const SharedCell& cell);
  void check_readers(const Here& here, const SharedCell& cell);
  void check_other_readers(const Here& here, const SharedCell& cell);
  void check_strong_readers(const Here& here, const SharedCell& cell);
  static void keep_strong_reads(SharedCell& cell);
  void note_read(const Touch& now, SharedCell& cell) const;
  void note_strong_write(const Touch& now, SharedCell& cell, bool updates = false) const;
  void source_read(const Actor& actor, const SharedPlace& place);
  void reduction_ends(const SharedPlace& place, std::uint32_t bytes, const Touch& reducing, Party by);
  bool is_shown(const Touch& now, const SharedCell& cell) const;
  bool knows_all(const Touch& now, const SharedCell& cell) const;
  void find(const Here& here, std::string_view code, const Touch* other, const char* hint,
            const std::function<std::string()>& what);
  void race(const Here& here, const Touch& other, const char* did);
  void under_way(const Here& here, const Touch* copy, const char* does);
  void used_as_data(const Here& here);
  const Warp* warp_of(const Touch& touch) const;  // null: a copy
  std::string describe(const Touch& touch) const;

  Cluster* cluster_;
  Order order_;
  std::vector<SharedLog> logs_;  // by rank
  struct Hidden {
    Party party;
    std::uint8_t lane;
    SharedPlace barrier;
  };
  std::vector<Hidden> hidden_;  // mbarriers before fence.mbarrier_init
  struct Source {
    Actor actor;
    SharedPlace place;
    Time read;
  };
  std::vector<Source> sources_;  // of the last copy of each instruction and lane that an mbarrier counts
  bool found_ = false;           // by the current access
};

}  // namespace ptxloom::exec
