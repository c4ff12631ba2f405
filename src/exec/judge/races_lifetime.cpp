// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "exec/judge/races.hpp"
#include "exec/machine/cluster.hpp"

// When shared memory of another thread block may be accessed, and mbarriers in it.
namespace ptxloom::exec {
namespace {

void report_source(const Actor& actor) {
  report(actor, {.code = "copy-not-awaited"},
         "let the thread block that waits for the copy arrive at an mbarrier or a barrier of the cluster, "
         "and wait there before the exit",
         [] { return "the thread block may exit before this copy has read its shared memory"; });
}

}  // namespace

// A thread block of the cluster may start late: its shared memory exists only from then on.
void Races::check_started(const Here& here, const Block& block) {
  const Block& own = here.actor.warp->block();
  if (block.rank() == own.rank() || cluster_->grid().launch().findings == nullptr) return;
  const std::size_t warps = block.warps().size();
  const auto first = static_cast<Party>(block.rank() * warps);
  if (order_.knows_any(here.touch.party, here.touch.lane, first, warps)) return;
  find(here, "unstarted-block", nullptr,
       "use barrier.cluster.arrive and barrier.cluster.wait in all threads before the first access to shared "
       "memory of another thread block",
       [&] {
         return fmt::format(
             "it {} byte {:#x} of shared memory of thread block {} of the cluster, which may not "
             "have started",
             here.does, here.offset, block.rank());
       });
}

// It is enough if one of its threads stayed until the access was over.
// A relaxed arrival at the barrier of the cluster tells that the reads before it are over.
bool Races::outlives(const Block& block, const Touch& access, bool reads) const {
  const std::size_t warps = block.warps().size();
  for (std::size_t i = 0; i < warps; ++i) {
    const auto party = static_cast<Party>(block.rank() * warps + i);
    if (order_.knows(party, kSeveralLanes, access.party, access.lane, access.time)) return true;
    if (reads && order_.knows_over(party, kSeveralLanes, access.party, access.lane, access.time)) return true;
  }
  return false;
}

// A thread block stays until copies have read its shared memory. Who waits for them may tell it.
void Races::source_read(const Actor& actor, const SharedPlace& place) {
  if (cluster_->blocks().size() == 1 || cluster_->grid().launch().findings == nullptr) return;
  if (place.block->ended()) return report_source(actor);
  const auto same = std::ranges::find_if(sources_, [&](const Source& each) {
    return each.actor.warp == actor.warp && each.actor.op == actor.op && each.actor.lane == actor.lane;
  });
  const Source source{actor, place, order_.now()};
  if (same == sources_.end()) {
    sources_.push_back(source);
  } else {
    *same = source;
  }
}

void Races::block_exits(const Block& block) {
  if (cluster_->blocks().size() == 1 || cluster_->grid().launch().findings == nullptr) return;
  const std::size_t warps = block.warps().size();
  for (const Source& source : sources_) {
    const Touch read{.time = source.read, .party = order_.copies(), .lane = kSeveralLanes};
    if (source.place.block == &block && !outlives(block, read, true)) report_source(source.actor);
  }
  const auto judge = [&](const Touch& touch, std::uint32_t offset, bool reads) {
    if (touch.time == 0 || touch.party == order_.copies() || touch.party / warps == block.rank() ||
        outlives(block, touch, reads))
      return;
    Block& other = cluster_->block(static_cast<std::uint32_t>(touch.party / warps));
    const Operation& op = cluster_->grid().code().operations[touch.operation];
    const Actor actor{&other.warps()[touch.party % warps], &op, touch.lane == kSeveralLanes ? 0 : touch.lane};
    report(actor,
           {.code = "exited-block",
            .address = fmt::format("shared of thread block {} + {:#x}", block.rank(), offset)},
           "keep thread blocks from exiting while others use their shared memory: barrier.cluster.arrive and "
           "barrier.cluster.wait before the exit",
           [&] {
             return fmt::format(
                 "it accesses byte {:#x} of shared memory of thread block {} of the cluster, which may have "
                 "exited before",
                 offset, block.rank());
           });
  };
  logs_[block.rank()].for_all([&](SharedCell& cell, std::uint32_t offset) {
    if (!cell.overwritten) judge(cell.read, offset, true);
    if (!cell.overwritten) judge(cell.other_read, offset, true);
    judge(cell.write, offset, false);
  });
}

// A relaxed barrier of the cluster is enough for an mbarrier behind fence.mbarrier_init.
bool Races::is_shown(const Touch& now, const SharedCell& cell) const {
  const Touch& init = cell.write;
  return cell.shown && cell.barrier &&
         order_.knows_over(now.party, now.lane, init.party, init.lane, init.time);
}

void Races::hide_barrier(const Actor& actor, const SharedPlace& place) {
  hidden_.push_back({party_of(*actor.warp), static_cast<std::uint8_t>(actor.lane), place});
}

void Races::show_barriers(const Warp& warp, Mask lanes) {
  const Party party = party_of(warp);
  std::erase_if(hidden_, [&](const Hidden& each) {
    if (each.party != party || (lanes >> each.lane & 1) == 0) return false;
    logs_[each.barrier.block->rank()].for_cells(each.barrier.offset, 8,
                                                [](SharedCell& cell, std::uint32_t) { cell.shown = true; });
    return true;
  });
}

void Races::mark_barrier(const SharedPlace& place, bool is_barrier) {
  logs_[place.block->rank()].for_cells(place.offset, 8, [&](SharedCell& cell, std::uint32_t) {
    cell.barrier = is_barrier;
    cell.shown = false;
  });
}

}  // namespace ptxloom::exec
