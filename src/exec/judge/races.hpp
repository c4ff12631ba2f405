// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exec/judge/order.hpp"
#include "exec/judge/shared_log.hpp"
#include "exec/machine/fault.hpp"
#include "exec/memory/address.hpp"

// A data race: two accesses to a byte of shared memory by different threads, at least one of them a write,
// that nothing orders (order.hpp). Asynchronous copies write, or read, from their issue to their wait. Copies
// through the async proxy (bulk and tensor copies, wgmma) may read what threads wrote only after a
// fence.proxy.async.
//
// Every report is a race, or relies on an order that PTX does not promise. Missed are: what order.hpp is
// silent about; all but the last write of a byte; in clusters of more than 64 warps, all but the last read; a
// missing fence between an access of a thread and a copy that writes; global memory.
namespace ptxloom::exec {

class Cluster;

class Races {
 public:
  explicit Races(Cluster& cluster) : cluster_(&cluster) {}
  void start();
  Order& order() { return order_; }
  Order::Party party_of(const Warp& warp) const;

  void read(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, bool strong);
  void write(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, bool strong);

  /// A copy that reads is issued; it has read. `by` is the copies' party if an mbarrier signals the end, else
  /// the party of the warp that waited for its own copy.
  void read_begins(const Actor& actor, const SharedPlace& place, std::uint32_t bytes);
  void read_ends(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, Order::Party by);
  /// A copy that writes is issued; its data has arrived. Several may reduce into one place.
  void write_begins(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, bool reduces);
  void write_ends(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, Order::Party by,
                  bool reduces);
  /// wgmma reads an operand.
  void read_by_proxy(const Actor& actor, const SharedPlace& place, std::uint32_t bytes);

  void mark_barrier(const SharedPlace& place, bool is_barrier);

 private:
  struct Here;  // an access being judged

  Touch touch_of(const Actor& actor, bool strong) const;
  bool ordered(const Touch& now, const Touch& before) const;
  void check_read(const Here& here, const SharedCell& cell) const;
  void check_write(const Here& here, const SharedCell& cell) const;
  void check_proxy(const Here& here, const SharedCell& cell) const;
  void check_readers(const Here& here, const SharedCell& cell) const;
  void note_read(const Touch& now, SharedCell& cell) const;
  bool knows_all(Order::Party party, const SharedCell& cell) const;
  [[noreturn]] void race(const Here& here, const Touch& other, const char* did) const;
  [[noreturn]] void under_way(const Here& here, const char* does) const;
  [[noreturn]] void used_as_data(const Here& here) const;
  std::string describe(const Touch& touch) const;

  Cluster* cluster_;
  Order order_;
  std::vector<SharedLog> logs_;  // by rank
};

}  // namespace ptxloom::exec
