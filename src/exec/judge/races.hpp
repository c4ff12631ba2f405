// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exec/judge/order.hpp"
#include "exec/judge/shared_log.hpp"
#include "exec/machine/fault.hpp"
#include "exec/memory/address.hpp"

// Two accesses to a byte of shared memory by different threads, one of them a write, with nothing to order
// them (order.hpp says what does): a data race. Asynchronous copies write from their issue to their wait, and
// read until then. What threads wrote, copies of the other proxy (bulk and tensor copies, wgmma) may read
// only behind a fence.proxy.async.
//
// All that is reported is a race, or relies on an order that PTX does not promise. What it misses: what
// order.hpp is silent about; all but the last write of a byte; in clusters of more than 64 warps, all but the
// last read; a fence between an access of a thread and a copy that writes; global memory.
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

  /// A copy that reads is issued; it has read. `by` is the copies' party where others are told of the end by
  /// an mbarrier, else that of the warp whose own wait it was.
  void read_begins(const Actor& actor, const SharedPlace& place, std::uint32_t bytes);
  void read_ends(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, Order::Party by);
  /// A copy that writes is issued; its data is there. Several may reduce into one place.
  void write_begins(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, bool reduces);
  void write_ends(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, Order::Party by,
                  bool reduces);
  /// wgmma reads an operand.
  void read_by_proxy(const Actor& actor, const SharedPlace& place, std::uint32_t bytes);

  void mark_barrier(const SharedPlace& place, bool is_barrier);

 private:
  struct Here;  // an access while it is judged

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
