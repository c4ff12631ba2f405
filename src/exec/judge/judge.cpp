// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/judge.hpp"

#include <fmt/format.h>

#include <bit>

#include "exec/machine/cluster.hpp"

namespace ptxloom::exec {

Judge::Judge(Cluster& cluster)
    : cluster_(&cluster), races_(cluster), undefined_(cluster), fences_(cluster.grid().code().fences) {}

void Judge::start() {
  races_.start();
  undefined_.start();
  const auto& blocks = cluster_->blocks();
  wgmma_.start(blocks.size() * blocks.front().warps().size());
}

void Judge::executes(Warp& warp, const Operation& op, Mask group, Mask lanes) {
  const Grid& grid = cluster_->grid();
  const DataFlow& flow = grid.flows()[static_cast<std::size_t>(&op - grid.code().operations.data())];
  undefined_.executes(warp, op, flow, group, lanes);
  if (lanes != 0 && !flow.of_wgmma.empty()) wgmma_.execute(warp, party_of(warp), op, flow, lanes);
  if (flow.divides) check_divisor(warp, op, flow.in[1], lanes);
}

void Judge::check_divisor(Warp& warp, const Operation& op, const FlowPiece& divisor, Mask lanes) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    if ((value_of(warp, divisor, lane) & low_bits(divisor.bits)) != 0) continue;
    fault(warp, op, lane_bit(lane), "division-by-zero", "the divisor is 0",
          "check the divisor first: the result is undefined");
  }
}

Order::Party Judge::party_of(const Actor& actor, End end) {
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

// By a strong access, threads tell each other that their earlier work is done. If the kernel has fences, each
// strong access counts as fenced.
void Judge::order_by(const Actor& actor, const void* word, const Reach& reach) {
  const bool orders = reach.manner == Manner::ordering || (reach.manner == Manner::strong && fences_);
  if (orders) order().touch(party_of(*actor.warp), word);
}

void Judge::access(const Actor& actor, const SharedPlace& place, const Reach& reach) {
  if (reach.manner == Manner::apart) return;
  const bool strong = reach.manner != Manner::weak;
  if (reach.access == Access::read || reach.manner == Manner::barrier) {
    races_.read(actor, place, reach.bytes, strong);
  } else {
    races_.write(actor, place, reach.bytes, strong);
  }
  if (reach.manner != Manner::barrier) {
    reach.access == Access::read ? undefined_.read(actor, place, reach.bytes)
                                 : undefined_.write(actor, place, reach.bytes);
  }
  order_by(actor, place.data, reach);
}

void Judge::access(const Actor& actor, const std::byte* memory, const Reach& reach) {
  if (reach.access == Access::write) undefined_.write_global(actor);
  order_by(actor, memory, reach);
}

void Judge::lost(Warp& warp, const Operation& op, Mask lanes, const Pointers& to) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const auto place = find(to[static_cast<std::size_t>(lane)]);
    if (!place) continue;
    fault(warp, op, lane_bit(lane), "data-race",
          fmt::format("it stores to {:#x} of shared memory, where another thread of the same warp stores a "
                      "different value at the same time",
                      place->offset),
          "store from one thread only, or use atom");
  }
}

void Judge::barrier_begins(const Actor& actor, const SharedPlace& place) {
  races_.write(actor, place, 8, false);
  races_.mark_barrier(place, true);
  undefined_.define(place, 8);
}

void Judge::barrier_ends(const Actor& actor, const SharedPlace& place) {
  races_.mark_barrier(place, false);
  races_.write(actor, place, 8, false);
}

void Judge::read_begins(const Actor& actor, const std::byte* from, std::uint32_t bytes) {
  if (const auto place = find(from)) races_.read_begins(actor, *place, bytes);
}

void Judge::read_ends(const Actor& actor, const std::byte* from, std::uint32_t bytes, End end) {
  if (const auto place = find(from)) races_.read_ends(actor, *place, bytes, party_of(actor, end));
}

void Judge::write_begins(const Actor& actor, const std::byte* to, std::uint32_t bytes, bool reduces) {
  if (const auto place = find(to)) races_.write_begins(actor, *place, bytes, reduces);
}

void Judge::write_ends(const Actor& actor, const std::byte* to, std::uint32_t bytes, End end, bool reduces) {
  const auto place = find(to);
  if (!place) return;
  races_.write_ends(actor, *place, bytes, party_of(actor, end), reduces);
  undefined_.define(*place, bytes);
}

void Judge::copies_out(const Actor& actor, const std::byte* to, const std::byte* from, std::uint32_t bytes) {
  const auto source = find(from);
  if (source && !find(to)) undefined_.copy_out(actor, *source, bytes);
}

void Judge::copied(const std::byte* to, const std::byte* from, std::uint32_t bytes) {
  const auto source = find(from), destination = find(to);
  if (source && destination) undefined_.copy(*destination, *source, bytes);
}

}  // namespace ptxloom::exec
