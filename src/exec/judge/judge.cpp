// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "exec/machine/cluster.hpp"
#include "exec/machine/work.hpp"

namespace ptxloom::exec {

Judge::Judge(Cluster& cluster)
    : cluster_(&cluster),
      races_(cluster),
      global_(cluster, races_.order()),
      undefined_(cluster),
      operands_(cluster, races_.order()),
      tensor_maps_(cluster, races_.order(), global_),
      grid_waits_(cluster, races_.order(), global_) {
  if (cluster.grid().launch().arithmetic) arithmetic_ = std::make_unique<Arithmetic>(cluster);
  if (cluster.grid().launch().reversals != nullptr || cluster.work().delays().any())
    pairs_ = std::make_unique<ReversiblePairs>(cluster, races_.order());
}

void Judge::start() {
  races_.start();
  global_.start(cluster_->grid().log());
  undefined_.start();
  if (arithmetic_) arithmetic_->start();
  if (pairs_) pairs_->start(cluster_->grid().uses());
  const auto& blocks = cluster_->blocks();
  const std::size_t warps = blocks.size() * blocks.front().warps().size();
  wgmma_.start(warps);
  events_.start(warps);
  operands_.start();
  tensor_maps_.start();
  grid_waits_.start();
  const Grid& grid = cluster_->grid();
  buffers_on_ = grid.log() != nullptr && grid.code().has_weak_fence;
  buffers_ = {};
}

Mask Judge::executes(Warp& warp, const Operation& op, Mask group, Mask lanes) {
  const Grid& grid = cluster_->grid();
  const DataFlow& flow = grid.flows()[grid.code().number_of(op)];
  lanes = undefined_.executes(warp, op, flow, group, lanes);
  if (lanes != 0 && !flow.of_wgmma.empty()) wgmma_.execute(warp, party_of(warp), op, flow, lanes);
  if (lanes != 0 && flow.synchronises && op.begins && grid.launch().findings != nullptr)
    events_.note(party_of(warp), {&warp, grid.code().number_of(op), order().advance()});
  if (flow.divides) check_divisor(warp, op, flow.in[1], lanes);
  if (arithmetic_ && op.begins) arithmetic_->begin(warp, op, flow, lanes);
  return lanes;
}

void Judge::check_divisor(Warp& warp, const Operation& op, const FlowPiece& divisor, Mask lanes) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    if ((value_of(warp, divisor, lane) & low_bits(divisor.bits)) != 0) continue;
    report({&warp, &op, lane}, {.code = "division-by-zero"},
           "check the divisor first: the result is undefined",
           [] { return std::string("the divisor is 0"); });
  }
}

Party Judge::party_of(const Actor& actor, End end) {
  return end == End::mbarrier ? order().copies() : party_of(*actor.warp);
}

std::optional<SharedPlace> Judge::find(const std::byte* memory) {
  for (Block& block : cluster_->blocks()) {
    const std::byte* begin = block.shared().data();
    if (memory < begin || memory >= begin + block.shared().size()) continue;
    const auto offset = static_cast<std::uint32_t>(memory - begin);
    return SharedPlace{.block = &block, .offset = offset, .data = block.shared().data() + offset};
  }
  return std::nullopt;
}

std::byte* Judge::undefined_bits(const std::byte* memory) {
  const auto place = find(memory);
  return place ? undefined_.bits_of(*place) : nullptr;
}

std::span<std::byte> Judge::undefined_bits(const std::byte* memory, std::uint32_t bytes) {
  if (std::byte* const bits = undefined_bits(memory)) return {bits, bytes};
  GlobalShadow* const shadow = cluster_->grid().shadow();
  return shadow == nullptr ? std::span<std::byte>() : shadow->bits(memory, bytes);
}

Who Judge::live_lanes(const Warp& warp, Mask lanes, Party party) {
  return {.party = party, .lanes = lanes, .live = warp.flow().live()};
}

// Each element is acquired or released by itself.
void Judge::order_by(const Actor& actor, const std::byte* memory, const Reach& reach, bool global) {
  if (reach.manner != Manner::strong && reach.manner != Manner::ordering) return;
  reach.for_elements(
      [&](std::uint32_t offset, std::uint32_t) { order_by_word(actor, memory + offset, reach, global); });
}

// Beyond the cluster nobody reaches a word that is not in global memory.
void Judge::order_by_word(const Actor& actor, const void* word, const Reach& reach, bool global) {
  uses(actor, word, reach.access == Access::write, global);
  const Who one = who(*actor.warp, lane_bit(actor.lane));
  const Scope scope = std::min(reach.scope, global ? Scope::gpu : Scope::cluster);
  if (reach.access == Access::read || reach.updates) order().acquire(one, word, !reach.acquires, scope);
  if (reach.access == Access::write && !reach.updates) order().store(one, word);
  if (reach.access == Access::write) order().release(one, word, !reach.releases, scope);
  if (buffers_on_) look_into_buffers(actor, word, reach, global);
}

// Clusters that share a log run in turns; others do not communicate through global memory.
StoreBuffers& Judge::buffers(bool global) {
  GridLog* const log = cluster_->grid().log();
  return global && !log->apart ? log->buffers : buffers_;
}

StoreBuffers::Thread Judge::thread_of(const Warp& warp, int lane) const {
  return {.cluster = cluster_->index(),
          .block = warp.block().rank(),
          .party = party_of(warp),
          .lane = static_cast<std::uint8_t>(lane)};
}

void Judge::fence_buffers(const Warp& warp, Mask lanes, Scope scope, FenceSides sides) {
  for_lanes(lanes, [&](int lane) {
    for (const bool global : {false, true}) buffers(global).fence(thread_of(warp, lane), scope, sides.sc);
  });
}

void Judge::look_into_buffers(const Actor& actor, const void* word, const Reach& reach, bool global) {
  const StoreBuffers::Thread thread = thread_of(*actor.warp, actor.lane);
  if (reach.access == Access::write) return buffers(global).write(thread, word);
  const std::uint32_t operation = cluster_->grid().code().number_of(*actor.op);
  if (const auto other = buffers(global).read(thread, word, operation)) report_buffers(actor, *other);
}

void Judge::exit(Warp& warp, Mask lanes) {
  order().exit(who(warp, lanes));
  if (!buffers_on_) return;
  for_lanes(lanes, [&](int lane) {
    for (const bool global : {false, true})
      if (const auto pair = buffers(global).exit(thread_of(warp, lane)))
        report_buffers({&warp, &cluster_->grid().code().operations[pair->earlier.reads], lane}, pair->later);
  });
}

void Judge::report_buffers(const Actor& actor, const StoreBuffers::Side& other) {
  const Grid& grid = cluster_->grid();
  const StoreBuffers::Thread& thread = other.thread;
  const std::size_t warps = cluster_->blocks().front().warps().size();
  const bool is_here = thread.cluster == cluster_->index();
  Misuse misuse{.code = "fence-sc"};
  if (is_here) misuse.other_warp = &cluster_->block(thread.block).warps()[thread.party % warps];
  misuse.other_op = &grid.code().operations[other.reads];
  misuse.other_lane = thread.lane;
  misuse.other_block = grid.block_index(thread.cluster, thread.block);
  misuse.other_number = static_cast<std::uint32_t>(thread.party % warps);
  report(actor, misuse, "use fence.sc between the write and the read, in both threads", [&] {
    return fmt::format(
        "this thread writes one word and reads another; {} writes and reads the two the other way round: "
        "both may read the old values, since a fence between write and read is not fence.sc, or has too "
        "small a scope",
        describe_with_line(*actor.warp, *misuse.other_op));
  });
}

void Judge::find_races(const Actor& actor, const SharedPlace& place, const Reach& reach) {
  if (reach.access == Access::read || reach.manner == Manner::barrier) {
    // What a racing read finds is reported as the race, not as an undefined value.
    if (races_.read(actor, place, reach.bytes, reach.kind())) undefined_.define(place, reach.bytes);
  } else {
    operands_.write(actor, place, reach.bytes);
    races_.write(actor, place, reach.bytes, reach.kind(), reach.updates);
  }
}

void Judge::access(const Actor& actor, const SharedPlace& place, const Reach& reach) {
  if (reach.manner == Manner::apart) return;
  reach.for_parts([&](std::uint32_t offset, const Reach& part) {
    find_races(actor, {.block = place.block, .offset = place.offset + offset, .data = place.data + offset},
               part);
  });
  if (reach.manner != Manner::barrier) {
    reach.access == Access::read ? undefined_.read(actor, place, reach.bytes)
                                 : undefined_.write(actor, place, reach.bytes);
  }
  order_by(actor, place.data, reach, false);
}

void Judge::access(const Actor& actor, const std::byte* memory, const Reach& reach) {
  if (reach.access == Access::read && reach.manner == Manner::apart) return;
  if (reach.access == Access::write) undefined_.write_global(actor, memory, reach);
  if (reach.access == Access::read) undefined_.read_global(actor, memory, reach.bytes);
  reach.for_parts([&](std::uint32_t offset, const Reach& part) {
    if (part.access == Access::read || part.updates) grid_waits_.reads(actor, memory + offset, part.bytes);
    if (global_.on() && part.manner != Manner::apart) global_.access(actor, memory + offset, part);
  });
  order_by(actor, memory, reach, true);
}

void Judge::lost(Warp& warp, const Operation& op, Mask lanes, const Pointers& to) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const std::byte* memory = to[static_cast<std::size_t>(lane)];
    const auto shared = find(memory);
    if (!shared && !global_.on()) continue;
    const std::string place = shared ? fmt::format("shared + {:#x}", shared->offset) : global_.place(memory);
    report(
        {&warp, &op, lane}, {.code = "data-race", .other_warp = &warp, .other_op = &op, .address = place},
        "store from one thread only, or use atom", [&] {
          return fmt::format(
              "it stores to {}, where another thread of the same warp stores a different value at the same "
              "time",
              place);
        });
  }
}

void Judge::barrier_begins(const Actor& actor, const SharedPlace& place) {
  races_.write(actor, place, 8, AccessKind::weak());
  races_.mark_barrier(place, true);
  races_.hide_barrier(actor, place);
  undefined_.define(place, 8);
}

void Judge::barrier_ends(const Actor& actor, const SharedPlace& place) {
  races_.mark_barrier(place, false);
  // Tests of the mbarrier by lanes that have waited for each other since are over.
  order().finish_converged(party_of(*actor.warp));
  races_.write(actor, place, 8, AccessKind::weak());
}

void Judge::read_begins(const Actor& actor, const std::byte* from, std::uint32_t bytes) {
  if (const auto place = find(from)) return races_.read_begins(actor, *place, bytes);
  grid_waits_.reads(actor, from, bytes);
  if (global_.on()) global_.copy_reads(actor, from, bytes, true);
}

void Judge::read_ends(const Actor& actor, const std::byte* from, std::uint32_t bytes, End end) {
  if (const auto place = find(from)) races_.read_ends(actor, *place, bytes, party_of(actor, end));
}

Time Judge::bulk_begins(const Actor& actor) {
  if (global_.on()) global_.bulk_begins(actor);
  return order().now();
}

void Judge::write_begins(const Actor& actor, const std::byte* to, std::uint32_t bytes, AccessKind kind) {
  if (const auto place = find(to)) {
    operands_.write(actor, *place, bytes);
    return races_.write_begins(actor, *place, bytes, kind);
  }
  if (global_.on()) global_.copy_begins(actor, to, bytes, kind);
}

void Judge::write_ends(const Actor& actor, const std::byte* to, std::uint32_t bytes, AccessKind kind,
                       End end) {
  const auto place = find(to);
  if (!place && global_.on()) global_.copy_ends(actor, to, bytes, kind, party_of(actor, end));
  if (!place) return undefined_.define_global(to, bytes);
  races_.write_ends(actor, *place, bytes, kind, party_of(actor, end));
  undefined_.define(*place, bytes);
}

void Judge::copies_out(const Actor& actor, const std::byte* to, const std::byte* from, std::uint32_t bytes) {
  const auto source = find(from);
  if (source && !find(to)) undefined_.copy_out(actor, *source, bytes);
}

void Judge::copied(const Actor& actor, const std::byte* to, const std::byte* from, std::uint32_t bytes) {
  const auto source = find(from), destination = find(to);
  if (source && destination) undefined_.copy(*destination, *source, bytes);
  if (!source && destination) undefined_.copy_in(actor, *destination, from, bytes);
}

void Judge::undefine_registers(const Warp& warp, std::uint32_t function, int lane) {
  RegisterShadow& shadow = registers_of(warp);
  for (const Slot& slot : cluster_->grid().code().register_slots[function])
    for (const Slot& row : rows_of({&slot, 1}, slot.bytes == 16)) shadow.set(row, lane, ~std::uint64_t{0});
}

}  // namespace ptxloom::exec
