// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/races.hpp"

#include <fmt/format.h>

#include <bit>

#include "exec/machine/cluster.hpp"

namespace ptxloom::exec {
namespace {

std::uint64_t reader_bit(Order::Party party) { return party < 64 ? std::uint64_t{1} << party : 0; }

// Lanes of one instruction may write the same value to one place; the store itself detects differing values.
bool together(const Touch& now, const Touch& before) {
  return before.party == now.party && before.operation == now.operation && before.time == now.time;
}

constexpr const char* kSynchronise =
    "put a barrier between the two: bar.sync or an mbarrier, bar.warp.sync within a warp, barrier.cluster "
    "within a cluster";

}  // namespace

struct Races::Here {
  const Actor& actor;
  Touch touch;
  std::uint32_t offset = 0;
  const char* does = "reads";
};

void Races::start() {
  const auto& blocks = cluster_->blocks();
  order_.reset(blocks.size() * blocks.front().warps().size());
  logs_.resize(blocks.size());
  for (SharedLog& log : logs_) log.reset(cluster_->grid().shared_bytes());
}

Order::Party Races::party_of(const Warp& warp) const {
  return static_cast<Order::Party>(warp.block().rank() * warp.block().warps().size() + warp.index());
}

Touch Races::touch_of(const Actor& actor, bool strong) const {
  const auto first = cluster_->grid().code().operations.data();
  return {.time = order_.now(),
          .operation = static_cast<std::uint32_t>(actor.op - first),
          .party = party_of(*actor.warp),
          .lane = static_cast<std::uint8_t>(actor.lane),
          .strong = strong};
}

bool Races::ordered(const Touch& now, const Touch& before) const {
  if (before.time == 0 || (now.strong && before.strong)) return true;
  if (now.party == before.party)
    return now.lane == before.lane || before.lane == Touch::kSeveral ||
           before.time <= order_.lanes_synced(now.party);
  return order_.knows(now.party, before.party, before.time);
}

void Races::check_read(const Here& here, const SharedCell& cell) const {
  if (cell.copied_to) under_way(here, "writes");
  if (!ordered(here.touch, cell.write)) race(here, cell.write, "writes");
}

void Races::check_write(const Here& here, const SharedCell& cell) const {
  if (cell.copied_to) under_way(here, "writes");
  if (cell.copied_from != 0) under_way(here, "reads");
  const Touch &now = here.touch, &before = cell.write;
  if (!together(now, before) && !ordered(now, before)) race(here, before, "writes");
  check_readers(here, cell);
}

void Races::check_readers(const Here& here, const SharedCell& cell) const {
  const Touch& now = here.touch;
  if (cell.read.time == 0 || (now.strong && cell.read.strong)) return;
  if (!ordered(now, cell.read)) race(here, cell.read, "reads");
  if (!ordered(now, cell.other_read)) race(here, cell.other_read, "reads");
  Touch other = cell.read;
  other.lane = cell.second_lane;
  if (!ordered(now, other)) race(here, other, "reads");
  other.time = cell.first_read;
  other.lane = Touch::kSeveral;
  std::uint64_t judged = reader_bit(now.party) | reader_bit(cell.read.party);
  if (cell.other_read.time != 0) judged |= reader_bit(cell.other_read.party);
  for (std::uint64_t rest = cell.readers & ~judged; rest != 0; rest &= rest - 1) {
    other.party = static_cast<Order::Party>(std::countr_zero(rest));
    if (!order_.knows(now.party, other.party, other.time)) race(here, other, "reads");
  }
}

void Races::check_proxy(const Here& here, const SharedCell& cell) const {
  const Touch& write = cell.write;
  if (write.time == 0 || write.party == order_.copies() ||
      order_.fenced(here.touch.party, write.party, write.time))
    return;
  fault(here.actor, "proxy-fence",
        fmt::format(
            "it reads byte {:#x} of shared memory, which {} writes, without a fence.proxy.async between",
            here.offset, describe(write)),
        "use fence.proxy.async after the writes, then a barrier, before the read through the other proxy");
}

bool Races::knows_all(Order::Party party, const SharedCell& cell) const {
  if (!order_.knows(party, cell.read.party, cell.read.time) && party != cell.read.party) return false;
  for (std::uint64_t rest = cell.readers & ~reader_bit(party); rest != 0; rest &= rest - 1) {
    if (!order_.knows(party, static_cast<Order::Party>(std::countr_zero(rest)), cell.read.time)) return false;
  }
  return true;
}

// The readers kept are either all weak or all strong: strong ones are dropped when a weak one comes.
void Races::note_read(const Touch& now, SharedCell& cell) const {
  Touch& last = cell.read;
  if (last.time != 0 && now.strong && !last.strong) return;
  if (last.time == 0 || (last.strong && !now.strong) || knows_all(now.party, cell)) {
    const bool beside = last.time != 0 && last.party == now.party && last.strong == now.strong &&
                        last.time > order_.lanes_synced(now.party) && last.lane != now.lane;
    cell.second_lane = beside ? last.lane : now.lane;
    cell.first_read = beside ? cell.first_read : now.time;
    cell.readers = reader_bit(now.party);
    cell.other_read = {};
  } else {
    if (last.party != now.party) cell.other_read = last;
    cell.second_lane = now.lane;
    cell.readers |= reader_bit(now.party);
  }
  last = now;
}

void Races::read(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, bool strong) {
  const Touch now = touch_of(actor, strong);
  logs_[place.block->rank()].for_cells(place.offset, bytes, [&](SharedCell& cell, std::uint32_t offset) {
    const Touch& last = cell.read;
    if (last.time == now.time && last.party == now.party && last.lane == now.lane) return;
    const Here here{.actor = actor, .touch = now, .offset = offset};
    if (cell.barrier && !strong) used_as_data(here);
    check_read(here, cell);
    note_read(now, cell);
  });
}

void Races::write(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, bool strong) {
  const Touch now = touch_of(actor, strong);
  logs_[place.block->rank()].for_cells(place.offset, bytes, [&](SharedCell& cell, std::uint32_t offset) {
    const Here here{.actor = actor, .touch = now, .offset = offset, .does = "writes"};
    if (cell.barrier && !strong) used_as_data(here);
    check_write(here, cell);
    const bool several = together(now, cell.write) && now.lane != cell.write.lane;
    cell.write = now;
    if (several) cell.write.lane = Touch::kSeveral;
    cell.read = cell.other_read = {};
    cell.readers = 0;
  });
}

void Races::read_by_proxy(const Actor& actor, const SharedPlace& place, std::uint32_t bytes) {
  const Touch now = touch_of(actor, false);
  logs_[place.block->rank()].for_cells(place.offset, bytes, [&](SharedCell& cell, std::uint32_t offset) {
    const Here here{.actor = actor, .touch = now, .offset = offset};
    check_read(here, cell);
    check_proxy(here, cell);
    note_read(now, cell);
  });
}

void Races::read_begins(const Actor& actor, const SharedPlace& place, std::uint32_t bytes) {
  read_by_proxy(actor, place, bytes);
  logs_[place.block->rank()].for_cells(place.offset, bytes,
                                       [](SharedCell& cell, std::uint32_t) { ++cell.copied_from; });
}

void Races::read_ends(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, Order::Party by) {
  Touch now = touch_of(actor, false);
  now.party = by;
  logs_[place.block->rank()].for_cells(place.offset, bytes, [&](SharedCell& cell, std::uint32_t) {
    --cell.copied_from;
    note_read(now, cell);
  });
}

void Races::write_begins(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, bool reduces) {
  const Touch now = touch_of(actor, reduces);
  const SharedCell begun{.write = now, .copied_to = true};
  logs_[place.block->rank()].for_cells(place.offset, bytes, [&](SharedCell& cell, std::uint32_t offset) {
    const Here here{.actor = actor, .touch = now, .offset = offset, .does = "writes"};
    if (cell.barrier) used_as_data(here);
    check_write(here, cell);
    if (!reduces) cell = begun;
  });
}

void Races::write_ends(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, Order::Party by,
                       bool reduces) {
  Touch now = touch_of(actor, reduces);
  now.party = by;
  logs_[place.block->rank()].for_cells(place.offset, bytes, [&](SharedCell& cell, std::uint32_t) {
    cell.write = now;
    cell.copied_to = false;
  });
}

void Races::mark_barrier(const SharedPlace& place, bool is_barrier) {
  logs_[place.block->rank()].for_cells(place.offset, 8,
                                       [&](SharedCell& cell, std::uint32_t) { cell.barrier = is_barrier; });
}

std::string Races::describe(const Touch& touch) const {
  const Code& code = cluster_->grid().code();
  const auto& blocks = cluster_->blocks();
  const std::size_t warps = blocks.front().warps().size();
  const Operation& op = code.operations[touch.operation];
  const bool copy = touch.party == order_.copies();
  const Warp& warp = blocks[copy ? 0 : touch.party / warps].warps()[copy ? 0 : touch.party % warps];
  const std::string what = describe_with_line(warp, op);
  if (copy) return what;
  const std::string block = blocks.size() == 1 ? "" : fmt::format(" of block {}", warp.block().rank());
  const std::string lane = touch.lane == Touch::kSeveral ? "" : fmt::format(", lane {}", touch.lane);
  return fmt::format("{} of warp {}{}{}", what, warp.index(), lane, block);
}

void Races::race(const Here& here, const Touch& other, const char* did) const {
  fault(here.actor, "data-race",
        fmt::format("it {} byte {:#x} of shared memory, which {} {}, and nothing orders the two", here.does,
                    here.offset, describe(other), did),
        kSynchronise);
}

void Races::under_way(const Here& here, const char* does) const {
  fault(here.actor, "copy-not-awaited",
        fmt::format("it {} byte {:#x} of shared memory, which an asynchronous copy in flight still {}",
                    here.does, here.offset, does),
        "wait for the copy first: cp.async.wait_group, cp.async.bulk.wait_group, or its mbarrier");
}

void Races::used_as_data(const Here& here) const {
  fault(
      here.actor, "mbarrier-as-data",
      fmt::format("it {} byte {:#x} of shared memory, which is part of an mbarrier", here.does, here.offset),
      "access it with mbarrier instructions, or end it with mbarrier.inval first");
}

}  // namespace ptxloom::exec
