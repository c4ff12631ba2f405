// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/races.hpp"

#include <bit>

#include "exec/judge/strong_writes.hpp"
#include "exec/judge/touches.hpp"
#include "exec/machine/cluster.hpp"

namespace ptxloom::exec {
namespace {

std::uint64_t warp_bit(Party party) { return party < 64 ? std::uint64_t{1} << party : 0; }

}  // namespace

void Races::start() {
  const auto& blocks = cluster_->blocks();
  GridLog* const grid = cluster_->grid().log();
  order_.reset(blocks.size(), blocks.front().warps().size(),
               grid == nullptr || grid->apart ? nullptr : &grid->order, cluster_->index());
  hidden_.clear();
  sources_.clear();
  logs_.resize(blocks.size());
  for (SharedLog& log : logs_) log.reset(cluster_->grid().shared_bytes());
}

Party Races::party_of(const Warp& warp) const { return order_.party_of(warp.block().rank(), warp.index()); }

// A copy while it is in flight.
Touch Races::in_flight(Touch touch) const {
  touch.time = kInFlight;
  touch.party = order_.copies();
  return touch;
}

Touch Races::touch_of(const Actor& actor, AccessKind kind) const {
  return {.time = order_.now(),
          .operation = cluster_->grid().code().number_of(*actor.op),
          .party = party_of(*actor.warp),
          .lane = static_cast<std::uint8_t>(actor.lane),
          .kind = kind};
}

bool Races::meet(const Touch& now, const Touch& before) const {
  return now.kind.strong && before.kind.strong &&
         now.kind.meets(before.kind, order_.distance(now.party, before.party));
}

bool Races::ordered(const Touch& now, const Touch& before) const {
  return meet(now, before) || is_before(before, now);
}

bool Races::is_before(const Touch& before, const Touch& now) const {
  if (before.time == 0) return true;
  const bool is_same = now.party == before.party && (now.lane == before.lane || before.lane == kSeveralLanes);
  if (is_same && now.party != order_.copies()) return true;
  return order_.knows(now.party, now.lane, before.party, before.lane, before.time);
}

bool Races::after_write(const Touch& now, const Touch& write, Mask writers) const {
  if (write.lane != kSeveralLanes) return ordered(now, write);
  const bool has_written = write.party == now.party && (writers >> now.lane & 1) != 0;
  return has_written || order_.knows_whole(now.party, write.party, write.time) ||
         all_lanes(write, writers, [&](const Touch& each) { return ordered(now, each); });
}

bool Races::decides(const Touch& touch) const { return cluster_->grid().flows()[touch.operation].tests; }

bool Races::has_observed(const Touch& now, const SharedCell& cell) const {
  return !cell.overwritten && observed(*this, now, cell.write, {&cell.read, &cell.other_read});
}

bool Races::over_before(const Touch& now, const Touch& before) const {
  return ordered(now, before) ||
         order_.knows_over(now.party, now.lane, before.party, before.lane, before.time);
}

void Races::check_read(const Here& here, const SharedCell& cell) {
  if (cell.copied_to) return under_way(here, &cell.write, "writes");
  if (!after_write(here.touch, cell.write, cell.writing_lanes) && !has_observed(here.touch, cell) &&
      !is_shown(here.touch, cell))
    return race(here, cell.write, "writes");
  if (!cell.write.kind.strong) return;
  if (relies_on_volatile(here.touch, cell.write)) return race(here, cell.write, "writes");
  check_before_strong(here, cell);
}

// Volatile accesses are relaxed (PTX ISA 8.4): the read may as well find an older value. Two writes of a flag
// by different threads are no race.
bool Races::relies_on_volatile(const Touch& now, const Touch& write) const {
  const auto& flows = cluster_->grid().flows();
  return flows[now.operation].volatile_data && !flows[now.operation].stores &&
         flows[write.operation].volatile_data && !is_before(write, now);
}

// Strong writes, which may meet, do not hide what was written before.
void Races::check_before_strong(const Here& here, const SharedCell& cell) {
  for (const Touch* touch : {&cell.weak, &cell.other_write})
    if (!after_write(here.touch, *touch, cell.writing_lanes)) return race(here, *touch, "writes");
}

void Races::check_write(const Here& here, const SharedCell& cell) {
  if (cell.copied_to) return under_way(here, &cell.write, "writes");
  if (cell.copied_from != 0) return under_way(here, &cell.read, "reads");
  const Touch &now = here.touch, &before = cell.write;
  const bool of_copy = before.party == order_.copies();
  if (!together(now, before) &&
      !(of_copy ? over_before(now, before) : after_write(now, before, cell.writing_lanes)) &&
      !has_observed(now, cell))
    return race(here, before, "writes");
  if (before.kind.strong) check_before_strong(here, cell);
  if (!cell.overwritten || together(now, before)) check_readers(here, cell);
}

void Races::check_readers(const Here& here, const SharedCell& cell) {
  const Touch& now = here.touch;
  if (cell.read.time == 0) return;
  if (!over_before(now, cell.read)) return race(here, cell.read, "reads");
  if (!over_before(now, cell.other_read)) return race(here, cell.other_read, "reads");
  if (meet(now, cell.read)) return;
  Touch other = cell.read;
  other.lane = cell.second_lane;
  if (!over_before(now, other)) return race(here, other, "reads");
  other.time = cell.first_read;
  const bool knows_lanes = order_.knows_whole(now.party, other.party, other.time);
  for (Mask rest = knows_lanes ? 0 : cell.reading_lanes; rest != 0; rest &= rest - 1) {
    other.lane = static_cast<std::uint8_t>(std::countr_zero(rest));
    if (!over_before(now, other)) return race(here, other, "reads");
  }
  check_other_readers(here, cell);
  check_strong_readers(here, cell);
}

void Races::check_other_readers(const Here& here, const SharedCell& cell) {
  const Touch& now = here.touch;
  Touch other = cell.read;
  other.time = cell.first_read;
  other.lane = kSeveralLanes;
  std::uint64_t judged = warp_bit(now.party) | warp_bit(cell.read.party);
  if (cell.other_read.time != 0 && cell.other_read.kind.strong == cell.read.kind.strong)
    judged |= warp_bit(cell.other_read.party);
  for (std::uint64_t rest = cell.readers & ~judged; rest != 0; rest &= rest - 1) {
    other.party = static_cast<Party>(std::countr_zero(rest));
    if (!over_before(now, other)) return race(here, other, "reads");
  }
}

// Those beside weak ones, but the last, which is judged already.
void Races::check_strong_readers(const Here& here, const SharedCell& cell) {
  Touch other = cell.other_read;
  other.time = cell.first_strong;
  other.lane = kSeveralLanes;
  const std::uint64_t judged = warp_bit(here.touch.party) | warp_bit(other.party);
  for (std::uint64_t rest = cell.strong_readers & ~judged; rest != 0; rest &= rest - 1) {
    other.party = static_cast<Party>(std::countr_zero(rest));
    if (!over_before(here.touch, other)) return race(here, other, "reads");
  }
}

bool Races::knows_all(const Touch& now, const SharedCell& cell) const {
  const auto knows = [&](Party other, std::uint8_t lane) {
    return order_.knows(now.party, now.lane, other, lane, cell.read.time);
  };
  const Party party = now.party;
  if (party != cell.read.party && !knows(cell.read.party, cell.read.lane)) return false;
  for (std::uint64_t rest = cell.readers & ~warp_bit(party); rest != 0; rest &= rest - 1) {
    if (!knows(static_cast<Party>(std::countr_zero(rest)), kSeveralLanes)) return false;
  }
  return true;
}

// A weak read comes: strong ones since the write stay beside the weak ones.
void Races::keep_strong_reads(SharedCell& cell) {
  if (cell.read.kind.strong) {
    cell.other_read = cell.read;
    cell.strong_readers = cell.readers;
    cell.first_strong = cell.first_read;
  } else if (cell.strong_readers == 0) {
    cell.other_read = {};
  }
}

// `read` and those with it are either all weak or all strong. A strong one beside weak ones is `other_read`,
// since it may have observed the last write.
void Races::note_read(const Touch& now, SharedCell& cell) const {
  if (cell.overwritten) cell.forget_reads();
  Touch& last = cell.read;
  const bool strong = now.kind.strong;
  if (last.time != 0 && strong && !last.kind.strong) {
    if (cell.strong_readers == 0) cell.first_strong = now.time;
    cell.strong_readers |= warp_bit(now.party);
    cell.other_read = now;
    return;
  }
  if (last.time == 0 || (last.kind.strong && !strong) || knows_all(now, cell)) {
    const bool beside = last.time != 0 && last.party == now.party && last.kind.strong == strong &&
                        last.lane != now.lane &&
                        !order_.knows(now.party, now.lane, last.party, last.lane, last.time);
    if (strong) cell.other_read = {};
    if (!strong) keep_strong_reads(cell);
    cell.second_lane = beside ? last.lane : now.lane;
    cell.first_read = beside ? cell.first_read : now.time;
    cell.reading_lanes = (beside ? cell.reading_lanes : 0) | lane_bit(now.lane);
    cell.readers = warp_bit(now.party);
    cell.read_by_proxy = now.kind.by_proxy;
  } else {
    if (last.party != now.party && cell.strong_readers == 0) cell.other_read = last;
    cell.reading_lanes = (last.party == now.party ? cell.reading_lanes : 0) | lane_bit(now.lane);
    cell.second_lane = now.lane;
    cell.readers |= warp_bit(now.party);
    cell.read_by_proxy |= now.kind.by_proxy;
  }
  last = now;
}

void Races::note_strong_write(const Touch& now, SharedCell& cell, bool updates) const {
  const EarlierWrites<Touch> kept{.weak = cell.weak, .other = cell.other_write};
  const EarlierWrites<Touch> next = before_strong(*this, now, updates, cell.write, kept);
  const bool beside = cell.write.kind.strong && next.other.time != 0;
  const std::uint64_t before = beside ? cell.strong_writers : 0;
  if (before == 0) cell.first_writer = now.time;
  cell.strong_writers = before | (now.kind.by_proxy ? 0 : warp_bit(now.party));
  cell.strong_lanes = (together(now, cell.write) ? cell.strong_lanes : 0) | lane_bit(now.lane);
  cell.weak = next.weak;
  cell.other_write = next.other;
  cell.write = now;
}

bool Races::read(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, AccessKind kind) {
  found_ = false;
  const Touch now = touch_of(actor, kind);
  logs_[place.block->rank()].for_cells(place.offset, bytes, [&](SharedCell& cell, std::uint32_t offset) {
    const Touch& last = cell.read;
    if (!cell.overwritten && last.time == now.time && last.party == now.party && last.lane == now.lane)
      return;
    const Here here{.actor = actor, .touch = now, .offset = offset, .rank = place.block->rank()};
    if (offset == place.offset) check_started(here, *place.block);
    if (cell.barrier && !kind.strong) used_as_data(here);
    check_read(here, cell);
    note_read(now, cell);
  });
  return found_;
}

bool Races::write(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, AccessKind kind,
                  bool updates) {
  found_ = false;
  const Touch now = touch_of(actor, kind);
  logs_[place.block->rank()].for_cells(place.offset, bytes, [&](SharedCell& cell, std::uint32_t offset) {
    const Here here{
        .actor = actor, .touch = now, .offset = offset, .does = "writes", .rank = place.block->rank()};
    if (offset == place.offset) check_started(here, *place.block);
    if (cell.barrier && !kind.strong) used_as_data(here);
    check_write(here, cell);
    if (kind.strong) {
      note_strong_write(now, cell, updates);
      // Later strong writes are judged against weak reads. A strong read did not see this one.
      if (cell.overwritten || cell.read.kind.strong) cell.forget_reads();
      if (cell.other_read.kind.strong) cell.other_read = {};
      cell.strong_readers = 0;
      return;
    }
    const bool beside = together(now, cell.write);
    const bool several = beside && now.lane != cell.write.lane;
    cell.writing_lanes = (beside ? cell.writing_lanes : 0) | lane_bit(now.lane);
    cell.weak = cell.other_write = {};
    cell.write = now;
    if (several) cell.write.lane = kSeveralLanes;
    cell.overwritten = true;
  });
  return found_;
}

void Races::check_by_proxy(const Actor& actor, const SharedPlace& place, std::uint32_t bytes) {
  found_ = false;
  const Touch now = touch_of(actor, AccessKind::proxy());
  logs_[place.block->rank()].for_cells(place.offset, bytes, [&](SharedCell& cell, std::uint32_t offset) {
    const Here here{.actor = actor, .touch = now, .offset = offset, .rank = place.block->rank()};
    check_read(here, cell);
    check_proxy(here, cell);
  });
}

void Races::read_begins(const Actor& actor, const SharedPlace& place, std::uint32_t bytes) {
  check_by_proxy(actor, place, bytes);
  const Touch now = touch_of(actor, AccessKind::proxy());
  logs_[place.block->rank()].for_cells(place.offset, bytes, [&](SharedCell& cell, std::uint32_t) {
    note_read(now, cell);
    ++cell.copied_from;
  });
}

void Races::read_ends(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, Party by) {
  Touch now = touch_of(actor, AccessKind::proxy());
  now.party = by;
  logs_[place.block->rank()].for_cells(place.offset, bytes, [&](SharedCell& cell, std::uint32_t) {
    --cell.copied_from;
    note_read(now, cell);
  });
  if (by == order_.copies()) source_read(actor, place);
}

void Races::write_begins(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, AccessKind kind) {
  found_ = false;
  const Touch now = touch_of(actor, kind);
  const SharedCell begun{.write = now, .copied_to = true};
  const bool refills = kind.by_proxy && cluster_->grid().launch().findings != nullptr;
  const auto begin = [&](auto note) {
    logs_[place.block->rank()].for_cells(place.offset, bytes, [&](SharedCell& cell, std::uint32_t offset) {
      const Here here{
          .actor = actor, .touch = now, .offset = offset, .does = "writes", .rank = place.block->rank()};
      if (cell.barrier) used_as_data(here);
      check_write(here, cell);
      if (refills) check_refill(here, cell);
      note(cell);
    });
  };
  if (kind.strong) return begin([&](SharedCell& cell) { note_strong_write(in_flight(now), cell); });
  begin([&](SharedCell& cell) { cell = begun; });
}

void Races::write_ends(const Actor& actor, const SharedPlace& place, std::uint32_t bytes, AccessKind kind,
                       Party by) {
  Touch now = touch_of(actor, kind);
  if (kind.strong) return reduction_ends(place, bytes, in_flight(now), by);
  now.party = by;
  logs_[place.block->rank()].for_cells(place.offset, bytes, [&](SharedCell& cell, std::uint32_t) {
    cell.write = now;
    cell.copied_to = false;
  });
}

void Races::count_ends(const Actor& actor, const SharedPlace& barrier, Time issued) {
  const std::uint32_t operation = cluster_->grid().code().number_of(*actor.op);
  logs_[barrier.block->rank()].for_cells(barrier.offset, 8, [&](SharedCell& cell, std::uint32_t) {
    for (Touch* touch : {&cell.read, &cell.other_read}) {  // operations on mbarriers count as reads
      if (touch->party == party_of(*actor.warp) && touch->lane == actor.lane &&
          touch->operation == operation && touch->time == issued)
        touch->party = order_.copies();
    }
  });
}

void Races::reduction_ends(const SharedPlace& place, std::uint32_t bytes, const Touch& reducing, Party by) {
  Touch now = reducing;
  now.time = order_.now();
  now.party = by;
  logs_[place.block->rank()].for_cells(place.offset, bytes, [&](SharedCell& cell, std::uint32_t) {
    if (is_same(cell.other_write, reducing)) {
      cell.other_write = now;
    } else if (is_same(cell.write, reducing)) {
      cell.write = now;
    } else {
      note_strong_write(now, cell);
    }
  });
}

}  // namespace ptxloom::exec
