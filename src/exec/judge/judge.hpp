// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "exec/judge/arithmetic.hpp"
#include "exec/judge/early_reads.hpp"
#include "exec/judge/global_races.hpp"
#include "exec/judge/races.hpp"
#include "exec/judge/reversible.hpp"
#include "exec/judge/store_buffers.hpp"
#include "exec/judge/sync_events.hpp"
#include "exec/judge/tensor_maps.hpp"
#include "exec/judge/undefined.hpp"
#include "exec/judge/wgmma_operands.hpp"
#include "exec/judge/wgmma_registers.hpp"
#include "exec/memory/address.hpp"

// Watches a running cluster for misuse that gives right results by luck: races.hpp, undefined.hpp,
// wgmma_registers.hpp, wgmma_operands.hpp, and integer division by zero. The machine reports instructions,
// accesses, synchronisation and copies as they happen; with judging off it has a null pointer instead.
namespace ptxloom::exec {

class Judge {
 public:
  explicit Judge(Cluster& cluster);
  void start();
  /// The cluster has ended, and those before it have been here.
  void join() { global_.join(); }

  /// Before `lanes` execute an operation: the lanes of `group` that pass its guard. Returns the lanes that
  /// can execute it.
  Mask executes(Warp& warp, const Operation& op, Mask group, Mask lanes);
  /// After the operations that a warp has executed in a row, the last of its instruction.
  void executed() {
    if (arithmetic_) arithmetic_->finish();
  }
  /// A lane reads or writes shared memory.
  void access(const Actor& actor, const SharedPlace& place, const Reach& reach);
  /// A lane accesses global memory, if the access may order it and other threads or `watches_global`.
  void access(const Actor& actor, const std::byte* memory, const Reach& reach);
  bool watches_global() const { return global_.on(); }
  /// A lane accesses local memory.
  void access_local(const Actor& actor, std::uint64_t offset, const Reach& reach) {
    reach.access == Access::read ? undefined_.read_local(actor, offset, reach.bytes)
                                 : undefined_.write_local(actor, offset, reach.bytes);
  }
  /// A system call uses what it has read.
  void take(const Actor& actor, const std::byte* memory, std::uint32_t bytes) {
    undefined_.take(actor, memory, bytes);
  }
  /// Lanes whose stored values were overwritten by other lanes of the same instruction.
  void lost(Warp& warp, const Operation& op, Mask lanes, const Pointers& to);

  /// Before a lane uses a word or an mbarrier by which threads may synchronise, in global or shared memory.
  void uses(const Actor& actor, const void* place, bool changes, bool global) {
    if (pairs_) pairs_->uses(actor, place, changes, global);
  }
  /// A lane tests an mbarrier in vain that counts copies in flight.
  void tests_too_early(const Actor& actor) {
    if (pairs_) pairs_->tests_too_early(actor);
  }

  /// The undefined bits of a warp's registers, and of shared memory, in the same layout; null for other
  /// memory. Matrix instructions move them themselves.
  RegisterShadow& registers_of(const Warp& warp) { return undefined_.registers_of(warp); }
  bool found_undefined() const { return undefined_.found(); }
  std::byte* undefined_bits(const std::byte* memory);
  /// Those of global memory too; empty if it is all defined.
  std::span<std::byte> undefined_bits(const std::byte* memory, std::uint32_t bytes);
  /// The current instruction stores values of these lanes to memory whose undefined bits are not tracked.
  void stores(Warp& warp, const Operation& op, Mask lanes) { undefined_.stores(warp, op, lanes); }

  /// A matrix instruction has loaded these registers from memory that nobody has written, or not all of it.
  /// `global`: such a byte of global memory; null if it is shared memory.
  void loads_undefined(const Warp& warp, const Operation& op, std::span<const Slot> registers,
                       const std::byte* global) {
    undefined_.loads(warp, op, registers, global);
  }

  /// Each lane receives the value of another.
  void shuffle(const Warp& warp, const Operation& op, Mask lanes, const Slot& to, const Slot& from,
               const std::array<int, kLanes>& sources) {
    undefined_.shuffle(warp, op, lanes, to, from, sources);
  }

  // What calls do with a thread's registers and local memory (machine/location.hpp, machine/recursion.hpp).
  std::span<std::byte> local_bits(const Warp& warp, int lane, std::uint64_t offset, std::size_t bytes) {
    return undefined_.local_of(warp).bits(undefined_.local_offset(lane, offset), bytes);
  }
  void move_local(const Warp& warp, int lane, std::uint64_t to, std::uint64_t from, std::size_t bytes) {
    MemoryShadow& shadow = undefined_.local_of(warp);
    shadow.move(undefined_.local_offset(lane, to), shadow, undefined_.local_offset(lane, from), bytes);
  }
  void undefine_local(const Warp& warp, int lane, std::uint64_t offset, std::size_t bytes) {
    undefined_.local_of(warp).undefine(undefined_.local_offset(lane, offset), bytes);
  }
  void undefine_registers(const Warp& warp, std::uint32_t function, int lane);

  /// What the two warps have done for their order since then.
  std::vector<SyncEvent> events_since(Time time, const Warp& one, const Warp* other) const {
    return events_.since(time, party_of(one), other == nullptr ? party_of(one) : party_of(*other));
  }

  // Synchronisation: order.hpp. A place is identified by any address that belongs to it.
  void arrive(const Warp& warp, Mask lanes, const void* place) { order().arrive(who(warp, lanes), place); }
  void arrive_relaxed(const Warp& warp, Mask lanes, const void* place, Scope scope) {
    order().arrive_relaxed(who(warp, lanes), place, scope);
  }
  bool knows_opening(const Warp& warp, Mask lanes, const void* place) {
    return order().knows_opening(who(warp, lanes), place);
  }
  void open(const void* place) { order().open(place); }
  void open_with_exited(const void* place) { order().open_with_exited(place); }
  void open_with_exited(const void* place, std::uint32_t block) { order().open_with_exited(place, block); }
  void pass(const Warp& warp, Mask lanes, const void* place, Passing passing = {}) {
    order().pass(who(warp, lanes), place, passing);
  }
  /// The warp passes a barrier of all threads of the cluster.
  void meet_cluster(const Warp& warp) { order().meet_all(party_of(warp)); }
  /// All threads of the thread block have exited.
  void block_exits(const Block& block) { races_.block_exits(block); }
  /// The lanes meet at a barrier of their own.
  void meet(const Warp& warp, Mask lanes) { order().sync_lanes(who(warp, lanes)); }
  /// An instruction of the whole warp has read memory: no lane continues before.
  void finish_reads(const Warp& warp) { order().finish_reads(party_of(warp)); }
  /// Lanes have waited for each other at an instruction that does not order memory accesses.
  void converge(const Warp& warp) { order().converge(party_of(warp)); }
  void exit(Warp& warp, Mask lanes);
  void fence(const Warp& warp, Mask lanes, Scope scope, FenceSides sides) {
    order().fence(who(warp, lanes), scope, sides);
    if (buffers_on_) fence_buffers(warp, lanes, scope, sides);
  }
  void fence_proxy(const Warp& warp, Mask lanes, const ProxyFence& fence) {
    order().fence_proxy(who(warp, lanes), fence);
  }
  /// griddepcontrol.wait by these lanes.
  void waits_for_grids(const Warp& warp, Mask lanes) { grid_waits_.waits(warp, lanes); }
  TensorMaps& tensor_maps() { return tensor_maps_; }
  // The warp's operations on wgmma.mma_async.
  void wgmma_fence(const Warp& warp) { wgmma_.fence(party_of(warp)); }
  void wgmma_commit(const Warp& warp) {
    wgmma_.commit(party_of(warp));
    operands_.commit(warp);
  }
  void wgmma_wait(const Warp& warp, std::uint32_t pending) {
    wgmma_.wait(party_of(warp), pending);
    operands_.wait(warp, pending);
  }
  /// Its warpgroup reads an operand: units of 16 bytes of its thread block's shared memory.
  void wgmma_reads(const Actor& actor, std::span<const std::uint32_t> units) {
    races_.check_wgmma(actor, units);
    operands_.read(actor, units);
  }
  /// Copies that an mbarrier counts are done.
  void arrive(const void* barrier) { order().arrive({.party = order().copies()}, barrier); }

  void barrier_begins(const Actor& actor, const SharedPlace& place);
  /// fence.mbarrier_init by these lanes.
  void show_barriers(const Warp& warp, Mask lanes) { races_.show_barriers(warp, lanes); }
  void barrier_ends(const Actor& actor, const SharedPlace& place);

  /// How a copy ends. Memory other than shared memory is ignored.
  enum class End : std::uint8_t { own_wait, mbarrier };
  void read_begins(const Actor& actor, const std::byte* from, std::uint32_t bytes);
  void read_ends(const Actor& actor, const std::byte* from, std::uint32_t bytes, End end);
  /// A copy through the async proxy begins to read all its sources, and has read them. Returns when it began.
  Time bulk_begins(const Actor& actor);
  void bulk_has_read(const Actor& actor, Time issued) {
    if (global_.on()) global_.bulk_has_read(actor, issued);
  }
  /// cp.async reads global memory. Returns when.
  Time small_copy_reads(const Actor& actor, const std::byte* from, std::uint32_t bytes) {
    grid_waits_.reads(actor, from, bytes);
    return global_.on() ? global_.copy_reads(actor, from, bytes, false) : 0;
  }
  void small_copy_lands(const Actor& actor, Time issued) {
    if (global_.on()) global_.small_copy_lands(actor, issued);
  }
  /// `kind`: strong if the copy reduces.
  void write_begins(const Actor& actor, const std::byte* to, std::uint32_t bytes, AccessKind kind);
  void write_ends(const Actor& actor, const std::byte* to, std::uint32_t bytes, AccessKind kind, End end);
  /// A copy that an mbarrier counts is issued. Returns when: no two have the same time.
  Time count_begins() { return order().advance(); }
  /// It has counted: what its issue did at the mbarrier is over, as those learn who wait.
  void count_ends(const Actor& actor, const SharedPlace& barrier, Time issued) {
    races_.count_ends(actor, barrier, issued);
  }
  /// A copy moves bytes from one place to another: when it has read them, and when they have arrived.
  void copies_out(const Actor& actor, const std::byte* to, const std::byte* from, std::uint32_t bytes);
  void copied(const Actor& actor, const std::byte* to, const std::byte* from, std::uint32_t bytes);

 private:
  Order& order() { return races_.order(); }
  Party party_of(const Warp& warp) const { return races_.party_of(warp); }
  Party party_of(const Actor& actor, End end);
  std::optional<SharedPlace> find(const std::byte* memory);
  static Who live_lanes(const Warp& warp, Mask lanes, Party party);
  Who who(const Warp& warp, Mask lanes) const { return live_lanes(warp, lanes, party_of(warp)); }
  void check_divisor(Warp& warp, const Operation& op, const FlowPiece& divisor, Mask lanes);
  void find_races(const Actor& actor, const SharedPlace& place, const Reach& reach);
  void order_by(const Actor& actor, const std::byte* memory, const Reach& reach, bool global);
  void order_by_word(const Actor& actor, const void* word, const Reach& reach, bool global);
  // Store buffering: store_buffers.hpp.
  StoreBuffers& buffers(bool global);
  StoreBuffers::Thread thread_of(const Warp& warp, int lane) const;
  void fence_buffers(const Warp& warp, Mask lanes, Scope scope, FenceSides sides);
  void look_into_buffers(const Actor& actor, const void* word, const Reach& reach, bool global);
  void report_buffers(const Actor& actor, const StoreBuffers::Side& other);

  Cluster* cluster_;
  Races races_;
  GlobalRaces global_;
  Undefined undefined_;
  WgmmaRegisters wgmma_;
  WgmmaOperands operands_;
  TensorMaps tensor_maps_;
  GridWaits grid_waits_;
  SyncEvents events_;
  StoreBuffers buffers_;  // of shared memory
  bool buffers_on_ = false;
  std::unique_ptr<Arithmetic> arithmetic_;  // null unless the launch asks for it
  std::unique_ptr<ReversiblePairs> pairs_;  // null unless the launch collects reversals or has delays
};

}  // namespace ptxloom::exec
