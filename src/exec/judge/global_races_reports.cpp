// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "exec/judge/global_races.hpp"
#include "exec/machine/cluster.hpp"

// What reports of races in global memory say.
namespace ptxloom::exec {
namespace {

constexpr const char* kOrder =
    "order the two: a barrier within a thread block; between thread blocks a release of a flag "
    "(st.release.gpu, or fence.acq_rel.gpu before a relaxed access), and an acquire of it before the other "
    "access. Only a fence of the thread that sets the flag counts, behind the barrier with the others, "
    "unless it and the reader's are fence.sc";

}  // namespace

std::string GlobalRaces::place(const std::byte* memory) const {
  int number = 0;
  for (const Memory::Allocation& each : cluster_->grid().allocations()) {
    ++number;
    if (memory < each.data || memory >= each.data + each.bytes) continue;
    const auto offset = static_cast<std::uint64_t>(memory - each.data);
    return each.name.empty() ? fmt::format("buffer {} + {:#x}", number, offset)
                             : fmt::format("{} + {:#x}", each.name, offset);
  }
  return {};
}

const Warp* GlobalRaces::warp_of(const GlobalTouch& touch) const {
  const auto& blocks = cluster_->blocks();
  const std::size_t warps = blocks.front().warps().size();
  if (touch.cluster != cluster_->index() || touch.party >= blocks.size() * warps) return nullptr;
  return &blocks[touch.party / warps].warps()[touch.party % warps];
}

std::string GlobalRaces::describe(const GlobalTouch& touch) const {
  const Grid& grid = cluster_->grid();
  const std::size_t warps = cluster_->blocks().front().warps().size();
  const Index3 block = grid.block_index(touch.cluster, static_cast<std::uint32_t>(touch.party / warps));
  const Operation& op = grid.code().operations[touch.operation];
  const std::string what = describe_with_line(cluster_->blocks().front().warps().front(), op);
  if (touch.party >= cluster_->blocks().size() * warps) return what;
  return fmt::format("{} of block ({},{},{}), warp {}, lane {}", what, block[0], block[1], block[2],
                     touch.party % warps, touch.lane);
}

void GlobalRaces::find(const Here& here, std::string_view code, const GlobalTouch& other, const char* hint,
                       const std::function<std::string()>& what) {
  if (std::exchange(found_, true)) return;
  const Grid& grid = cluster_->grid();
  const std::size_t warps = cluster_->blocks().front().warps().size();
  Misuse misuse{.code = code, .address = place(here.memory)};
  misuse.other_warp = warp_of(other);
  misuse.other_op = &grid.code().operations[other.operation];
  misuse.other_lane = other.lane;
  misuse.other_block = grid.block_index(other.cluster, static_cast<std::uint32_t>(other.party / warps));
  if (misuse.other_warp != nullptr && !joining_) misuse.since = other.time;
  misuse.other_number = static_cast<std::uint32_t>(other.party % warps);
  report(here.actor, misuse, hint, what);
}

void GlobalRaces::under_way(const Here& here, const GlobalTouch& copy, const char* does) {
  if (copy.kind.is_read_of_map())
    return find(
        here, "copy-not-awaited", copy,
        copy.time == kInFlight ? "nothing tells when a prefetch is over: change another tensor map"
                               : "wait for the copy first: cp.async.bulk.wait_group.read, or its mbarrier",
        [&] {
          return fmt::format("it {} {}, the tensor map that an asynchronous copy in flight still uses",
                             here.does, place(here.memory));
        });
  find(
      here, "copy-not-awaited", copy,
      "wait for the copy first: cp.async.wait_group, cp.async.bulk.wait_group without .read, or its mbarrier",
      [&] {
        return fmt::format("it {} {}, which an asynchronous copy in flight still {}", here.does,
                           place(here.memory), does);
      });
}

void GlobalRaces::race(const Here& here, const GlobalTouch& other, const char* did) {
  if (other.time == kInFlight) return under_way(here, other, did);
  find(here, "data-race", other, kOrder, [&] {
    return fmt::format("it {} {}, which {} {}, and nothing orders the two{}", here.does, place(here.memory),
                       describe(other), did, why_not_strong(here.touch.kind, other.kind));
  });
}

}  // namespace ptxloom::exec
