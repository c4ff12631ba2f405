// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/global_races.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "exec/judge/strong_writes.hpp"
#include "exec/judge/touches.hpp"
#include "exec/machine/cluster.hpp"

namespace ptxloom::exec {
namespace {

constexpr const char* kNotReadOnly =
    "use ld.global without .nc, and not ldu, for memory that the kernel writes";
}  // namespace

GlobalTouch GlobalRaces::touch_of(const Actor& actor, AccessKind kind) const {
  const Warp& warp = *actor.warp;
  return {.time = order_->now(),
          .operation = cluster_->grid().code().number_of(*actor.op),
          .cluster = static_cast<std::uint32_t>(cluster_->index()),
          .party = order_->party_of(warp.block().rank(), warp.index()),
          .lane = static_cast<std::uint8_t>(actor.lane),
          .kind = kind};
}

// The write of a reduction while it is in flight.
GlobalTouch GlobalRaces::reducing(GlobalTouch touch) const {
  touch.time = kInFlight;
  touch.party = order_->copies();
  return touch;
}

bool GlobalRaces::meet(const GlobalTouch& now, const GlobalTouch& before) const {
  const bool same_cluster = now.cluster == before.cluster;
  return now.kind.meets(before.kind, same_cluster ? order_->distance(now.party, before.party) : Scope::gpu);
}

bool GlobalRaces::ordered(const GlobalTouch& now, const GlobalTouch& before) const {
  return before.time == 0 || meet(now, before) || is_before(before, now);
}

bool GlobalRaces::decides(const GlobalTouch& touch) const {
  return cluster_->grid().flows()[touch.operation].tests;
}

bool GlobalRaces::has_observed(const GlobalTouch& now, const Group& group) const {
  return observed(*this, now, group.write(), {&group.read(), &group.conflict().other_read});
}

bool GlobalRaces::is_before(const GlobalTouch& before, const GlobalTouch& now) const {
  if (before.time == 0) return true;
  if (before.time == kInFlight) return false;
  const bool same_cluster = now.cluster == before.cluster;
  if (same_cluster && joining_) return true;
  if (!same_cluster)
    return order_->knows_other(now.party, now.lane, before.cluster, before.party, before.lane, before.time);
  if (now.party == before.party && now.lane == before.lane && now.party != order_->copies()) return true;
  return order_->knows(now.party, now.lane, before.party, before.lane, before.time);
}

bool GlobalRaces::over_before(const GlobalTouch& now, const GlobalTouch& read) const {
  return ordered(now, read) || (now.cluster == read.cluster &&
                                order_->knows_over(now.party, now.lane, read.party, read.lane, read.time));
}

// Volatile accesses are relaxed (PTX ISA 8.4): the read may as well find an older value. Two writes of a flag
// by different threads are no race.
bool GlobalRaces::relies_on_volatile(const GlobalTouch& now, const GlobalTouch& write) const {
  const auto& flows = cluster_->grid().flows();
  return flows[now.operation].volatile_data && !flows[now.operation].stores &&
         flows[write.operation].volatile_data && !is_before(write, now);
}

bool GlobalRaces::wrote_all(const std::byte* memory, std::uint32_t bytes) const {
  bool all = true;
  log_->for_groups(memory, bytes, [&](const Group& group, std::uint32_t) { all &= group.write().time != 0; });
  return all;
}

void GlobalRaces::check_read(const Here& here, const Group& group) {
  const GlobalTouch& write = group.write();
  if (group.conflict().copied_to) return under_way(here, write, "writes");
  if (here.touch.kind.read_only && write.time != 0)
    return find(here, "read-only-written", write, kNotReadOnly, [&] {
      return fmt::format("it reads {} as read-only memory, which {} writes in the same kernel",
                         place(here.memory), describe(write));
    });
  if (!together(here.touch, write) && !ordered(here.touch, write) && !has_observed(here.touch, group))
    return race(here, write, "writes");
  if (!write.kind.strong) return;
  if (relies_on_volatile(here.touch, write)) return race(here, write, "writes");
  const GlobalTouch& weak = group.conflict().weak;
  if (!ordered(here.touch, weak)) return race(here, weak, "writes");
  const GlobalTouch other = group.other_write();
  if (!ordered(here.touch, other)) race(here, other, "writes");
}

void GlobalRaces::check_write(const Here& here, const Group& group) {
  const GlobalTouch &now = here.touch, &read = group.read(), &other = group.conflict().other_read;
  if (read.kind.read_only || other.kind.read_only) {
    const GlobalTouch& through_cache = read.kind.read_only ? read : other;
    return find(here, "read-only-written", through_cache, kNotReadOnly, [&] {
      return fmt::format("it {} {}, which {} reads as read-only memory in the same kernel", here.does,
                         place(here.memory), describe(through_cache));
    });
  }
  if (together(now, group.write())) check_forgotten(here);
  for (const GlobalTouch* each : {&read, &other})
    if (is_in_flight(*each)) return under_way(here, *each, "reads");
  if (!over_before(now, read)) return race(here, read, "reads");
  if (!over_before(now, other)) race(here, other, "reads");
}

// Clusters that come later are still to be compared with them.
void GlobalRaces::forget_reads(const Here& here, const Group& group) {
  if (log_ == &own_ && !joining_) group.set_past_read(group.read());
  if (group.read().time == 0) return;
  if (!together(here.touch, forgotten_by_)) forgotten_.clear();
  forgotten_by_ = here.touch;
  forgotten_.push_back({here.memory, group.read(), group.conflict().other_read});
  group.set_read({});
  group.set_other_read({});
}

// Atomic operations and reductions of copies may meet.
bool GlobalRaces::is_unfenced(const GlobalTouch& now, const GlobalTouch& write) const {
  if (write.time == 0 || write.kind.by_proxy) return false;
  const bool fenced =
      write.cluster == now.cluster
          ? order_->fenced(kGlobalSpace, now.party, now.lane, write.party, write.lane, write.time)
          : order_->fenced_other(now.party, now.lane, write.cluster, write.party, write.lane, write.time);
  return !fenced && (!meet(now, write) || is_before(write, now));
}

// A strong write hides neither the weak one before it nor one that nothing orders before it.
void GlobalRaces::check_proxy(const Here& here, const Group& group) {
  check_proxy(here, group.write());
  if (!group.write().kind.strong) return;
  check_proxy(here, group.other_write());
  check_proxy(here, group.conflict().weak);
}

void GlobalRaces::check_proxy(const Here& here, const GlobalTouch& write) {
  if (!is_unfenced(here.touch, write)) return;
  find(here, "proxy-fence", write,
       "use fence.proxy.async after the writes, then a barrier, before the read through the other proxy",
       [&] {
         return fmt::format("it reads {}, which {} writes, without a fence.proxy.async between",
                            place(here.memory), describe(write));
       });
}

// `kept` is what is remembered of the read that `now` makes: of a copy, one in flight.
void GlobalRaces::note_read(const GlobalTouch& now, const GlobalTouch& kept, const Group& group) const {
  const GlobalTouch last = group.read();
  const bool weaker = last.time != 0 && now.kind.strong && !last.kind.strong;
  if (weaker && !ordered(now, last)) {
    group.set_other_read(kept);
    return;
  }
  if (last.time != 0 && !ordered(now, last) && !is_same(last, kept)) group.set_other_read(last);
  group.set_read(kept);
}

void GlobalRaces::note_write(const GlobalTouch& now, const Group& group, bool updates) const {
  EarlierWrites<GlobalTouch> kept;
  if (now.kind.strong)
    kept = before_strong(*this, now, updates, group.write(),
                         {.weak = group.conflict().weak, .other = group.other_write()});
  group.set_weak(kept.weak);
  group.set_other_write(kept.other);
  group.set_write(now);
}

void GlobalRaces::access(const Actor& actor, const std::byte* memory, const Reach& reach) {
  const GlobalTouch now = touch_of(actor, reach.kind());
  const bool writes = reach.access == Access::write;
  found_ = false;
  log_->for_groups(memory, reach.bytes, [&](const Group& group, std::uint32_t offset) {
    visit({actor, now, memory + offset, writes ? "writes" : "reads", reach.updates}, group, writes);
  });
}

void GlobalRaces::visit(const Here& here, const Group& group, bool writes) {
  const GlobalTouch& now = here.touch;
  check_read(here, group);
  if (!writes) return note_read(now, group);
  check_write(here, group);
  note_write(now, group, here.updates);
  if (!now.kind.strong || group.read().kind.strong) return forget_reads(here, group);
  // Later strong writes are judged against weak reads. A strong read did not see this one.
  if (group.conflict().other_read.kind.strong) group.set_other_read({});
}

void GlobalRaces::start(GridLog* log) {
  grid_ = log;
  own_.clear();
  in_flight_.clear();
  forgotten_.clear();
  forgotten_by_ = {};
  const auto& blocks = cluster_->blocks();
  landed_.assign(log == nullptr ? 0 : blocks.size() * blocks.front().warps().size() * kLanes, 0);
  if (log != nullptr) log_ = log->apart ? &own_ : &log->memory;
}

void GlobalRaces::join() {
  if (log_ != &own_) return;
  joining_ = true;
  own_.for_both(grid_->memory, [&](const Group& mine, const Group& theirs, const std::byte* memory) {
    const GlobalConflict& conflict = mine.conflict();
    replay(conflict.past_read, false, theirs, memory);
    replay(conflict.weak, true, theirs, memory);
    replay(mine.other_write(), true, theirs, memory);
    replay(mine.write(), true, theirs, memory);
    replay(conflict.other_read, false, theirs, memory);
    replay(mine.read(), false, theirs, memory);
  });
  joining_ = false;
  own_.clear();
}

// Judges an access of this cluster against those of clusters before it.
void GlobalRaces::replay(const GlobalTouch& touch, bool writes, const Group& group, const std::byte* memory) {
  if (touch.time == 0) return;
  const Warp* const warp = warp_of(touch);
  auto& blocks = cluster_->blocks();
  const Actor actor{warp == nullptr ? &blocks.front().warps().front() : const_cast<Warp*>(warp),
                    &cluster_->grid().code().operations[touch.operation], touch.lane};
  found_ = false;
  visit({actor, touch, memory, writes ? "writes" : "reads"}, group, writes);
}

Time GlobalRaces::copy_reads(const Actor& actor, const std::byte* memory, std::uint32_t bytes,
                             bool by_proxy) {
  const GlobalTouch now = touch_of(actor, AccessKind::read_of_copy(by_proxy));
  GlobalTouch kept = now;
  if (by_proxy) kept.party = order_->copies();
  found_ = false;
  log_->for_groups(memory, bytes, [&](const Group& group, std::uint32_t offset) {
    const Here here{actor, now, memory + offset, "reads"};
    check_read(here, group);
    if (by_proxy) check_proxy(here, group);
    note_read(now, kept, group);
  });
  return now.time;
}

void GlobalRaces::copy_uses(const Actor& actor, const std::byte* map, std::uint32_t bytes, bool counted) {
  GlobalTouch now = touch_of(actor, AccessKind::read_of_map());
  if (counted) now.party = order_->copies();
  log_->for_groups(map, bytes, [&](const Group& group, std::uint32_t) { note_read(now, group); });
}

void GlobalRaces::copy_has_used(const Actor& actor, const std::byte* map, std::uint32_t bytes, bool changed) {
  const GlobalTouch now = touch_of(actor, AccessKind::proxy());
  found_ = false;
  log_->for_groups(map, bytes, [&](const Group& group, std::uint32_t offset) {
    if (changed) check_read({actor, now, map + offset, "uses the tensor map at"}, group);
    note_read(now, group);
  });
}

void GlobalRaces::prefetch_uses(const Actor& actor, const std::byte* map, std::uint32_t bytes) {
  const GlobalTouch now = touch_of(actor, AccessKind::read_of_map());
  GlobalTouch kept = now;
  kept.time = kInFlight;
  log_->for_groups(map, bytes, [&](const Group& group, std::uint32_t) { note_read(now, kept, group); });
}

void GlobalRaces::bulk_begins(const Actor& actor) {
  in_flight_.push_back(touch_of(actor, AccessKind::read_of_copy(true)));
  in_flight_.back().party = order_->copies();
}

void GlobalRaces::bulk_has_read(const Actor& actor, Time issued) {
  GlobalTouch begun = touch_of(actor, AccessKind::read_of_copy(true));
  begun.time = issued;
  begun.party = order_->copies();
  const auto found =
      std::ranges::find_if(in_flight_, [&](const GlobalTouch& each) { return is_same(each, begun); });
  if (found != in_flight_.end()) in_flight_.erase(found);
}

// Those of a thread land in the order in which it has issued them.
void GlobalRaces::small_copy_lands(const Actor& actor, Time issued) {
  Time& landed =
      landed_[order_->party_of(actor.warp->block().rank(), actor.warp->index()) * std::size_t{kLanes} +
              static_cast<std::size_t>(actor.lane)];
  landed = std::max(landed, issued);
}

bool GlobalRaces::is_in_flight(const GlobalTouch& read) const {
  if (!read.kind.is_read_of_copy() || joining_ || read.cluster != cluster_->index()) return false;
  if (!read.kind.by_proxy) return read.time > landed_[read.party * std::size_t{kLanes} + read.lane];
  GlobalTouch of_copy = read;
  of_copy.party = order_->copies();
  return std::ranges::any_of(in_flight_, [&](const GlobalTouch& each) { return is_same(each, of_copy); });
}

void GlobalRaces::check_forgotten(const Here& here) {
  if (joining_ || !together(here.touch, forgotten_by_)) return;
  for (const Forgotten& each : forgotten_) {
    if (each.memory != here.memory) continue;
    for (const GlobalTouch* read : {&each.read, &each.other_read})
      if (!over_before(here.touch, *read)) return race(here, *read, "reads");
  }
}

void GlobalRaces::copy_begins(const Actor& actor, const std::byte* memory, std::uint32_t bytes,
                              AccessKind kind) {
  const GlobalTouch now = touch_of(actor, kind), writing = kind.strong ? reducing(now) : now;
  found_ = false;
  log_->for_groups(memory, bytes, [&](const Group& group, std::uint32_t offset) {
    const Here here{actor, now, memory + offset, "writes"};
    check_read(here, group);
    check_write(here, group);
    if (kind.strong) check_proxy(here, group);  // it reads the old value
    note_write(writing, group);
    group.set_copied_to(!kind.strong);
    forget_reads(here, group);
  });
}

void GlobalRaces::copy_ends(const Actor& actor, const std::byte* memory, std::uint32_t bytes, AccessKind kind,
                            Party by) {
  GlobalTouch now = touch_of(actor, kind);
  const GlobalTouch writing = reducing(now);
  now.party = by;
  log_->for_groups(memory, bytes, [&](const Group& group, std::uint32_t) {
    group.set_copied_to(false);
    if (kind.strong && is_same(group.other_write(), writing)) {
      group.set_other_write(now);
    } else if (!kind.strong || is_same(group.write(), writing)) {
      group.set_write(now);
    } else {
      note_write(now, group);
    }
  });
}

}  // namespace ptxloom::exec
