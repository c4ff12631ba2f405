// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "exec/judge/races.hpp"
#include "exec/judge/undefined.hpp"
#include "exec/judge/wgmma_registers.hpp"
#include "exec/memory/address.hpp"

// Watches a running cluster for misuse that gives right results by luck: races.hpp, undefined.hpp,
// wgmma_registers.hpp, and integer division by zero. The machine reports instructions, accesses,
// synchronisation and copies as they happen; with judging off it has a null pointer instead.
namespace ptxloom::exec {

class Judge {
 public:
  explicit Judge(Cluster& cluster);
  void start();

  /// Before `lanes` execute an operation: the lanes of `group` that pass its guard.
  void executes(Warp& warp, const Operation& op, Mask group, Mask lanes);
  /// A lane reads or writes shared memory.
  void access(const Actor& actor, const SharedPlace& place, const Reach& reach);
  /// A lane accesses other memory, if the access may order it and other threads.
  void access(const Actor& actor, const std::byte* memory, const Reach& reach);
  /// Lanes whose stored values were overwritten by other lanes of the same instruction.
  void lost(Warp& warp, const Operation& op, Mask lanes, const Pointers& to);

  /// The undefined bits of a warp's registers, and of shared memory, in the same layout; null for other
  /// memory. Matrix instructions move them themselves.
  RegisterShadow& registers_of(const Warp& warp) { return undefined_.registers_of(warp); }
  std::byte* undefined_bits(const std::byte* memory);
  /// The current instruction stores values of these lanes to memory whose undefined bits are not tracked.
  void stores(Warp& warp, const Operation& op, Mask lanes) { undefined_.stores(warp, op, lanes); }

  /// Each lane receives the value of another.
  void shuffle(const Warp& warp, Mask lanes, const Slot& to, const Slot& from,
               const std::array<int, kLanes>& sources) {
    undefined_.shuffle(warp, lanes, to, from, sources);
  }

  // Synchronisation: order.hpp. A place is identified by any address that belongs to it.
  void arrive(const Warp& warp, const void* place) { order().arrive(party_of(warp), place); }
  void open(const void* place) { order().open(place); }
  void open_with_exited(const void* place) { order().open_with_exited(place); }
  void pass(const Warp& warp, const void* place) { order().pass(party_of(warp), place); }
  void meet(const Warp& warp) { order().sync_lanes(party_of(warp)); }
  void exit(const Warp& warp) { order().exit(party_of(warp)); }
  void fence_proxy(const Warp& warp) { order().fence_proxy(party_of(warp)); }
  // The warp's operations on wgmma.mma_async.
  void wgmma_fence(const Warp& warp) { wgmma_.fence(party_of(warp)); }
  void wgmma_commit(const Warp& warp) { wgmma_.commit(party_of(warp)); }
  void wgmma_wait(const Warp& warp, std::uint32_t pending) { wgmma_.wait(party_of(warp), pending); }
  /// Copies that an mbarrier counts are done.
  void arrive(const void* barrier) { order().arrive(order().copies(), barrier); }

  void barrier_begins(const Actor& actor, const SharedPlace& place);
  void barrier_ends(const Actor& actor, const SharedPlace& place);

  /// How a copy ends. Memory other than shared memory is ignored.
  enum class End : std::uint8_t { own_wait, mbarrier };
  void read_begins(const Actor& actor, const std::byte* from, std::uint32_t bytes);
  void read_ends(const Actor& actor, const std::byte* from, std::uint32_t bytes, End end);
  void write_begins(const Actor& actor, const std::byte* to, std::uint32_t bytes, bool reduces);
  void write_ends(const Actor& actor, const std::byte* to, std::uint32_t bytes, End end, bool reduces);
  /// A copy moves bytes from one place to another: when it has read them, and when they have arrived.
  void copies_out(const Actor& actor, const std::byte* to, const std::byte* from, std::uint32_t bytes);
  void copied(const std::byte* to, const std::byte* from, std::uint32_t bytes);
  void read_by_proxy(const Actor& actor, const SharedPlace& place, std::uint32_t bytes) {
    races_.read_by_proxy(actor, place, bytes);
  }

 private:
  Order& order() { return races_.order(); }
  Order::Party party_of(const Warp& warp) const { return races_.party_of(warp); }
  Order::Party party_of(const Actor& actor, End end);
  std::optional<SharedPlace> find(const std::byte* memory);
  void check_divisor(Warp& warp, const Operation& op, const FlowPiece& divisor, Mask lanes);
  void order_by(const Actor& actor, const void* word, const Reach& reach);

  Cluster* cluster_;
  Races races_;
  Undefined undefined_;
  WgmmaRegisters wgmma_;
  bool fences_ = false;  // the kernel has fences, which may order strong accesses
};

}  // namespace ptxloom::exec
