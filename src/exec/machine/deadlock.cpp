// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "exec/machine/cluster.hpp"
#include "exec/machine/fault.hpp"

// Describes who waits for what in a deadlock.
namespace ptxloom::exec {
namespace {

struct Wait {
  const Warp* warp;
  const Operation* op;
  Mask lanes;
  std::string what;
  const char* code;
  const char* hint;
};

constexpr const char* kBarrierHint =
    "let every thread that is counted reach the same barrier, or reduce its thread count";
constexpr const char* kMbarrierHint =
    "check the arrivals and bytes of the phase: as many must arrive as are expected; and check the parity "
    "that is waited for";
constexpr const char* kMemberHint =
    "let all lanes of the member mask reach this instruction, or leave the others out of the mask";

const Operation& operation_before(const Warp& warp, const Group& group) {
  return warp.block().grid().code().operations[group.pc - 1];
}

/// "warp 3", or with several thread blocks "warp 3 of block 1".
std::string name_of(const Warp& warp) {
  const bool alone = warp.block().cluster().blocks().size() == 1;
  return fmt::format("warp {}{}", warp.index(),
                     alone ? "" : fmt::format(" of block {}", warp.block().rank()));
}

/// Where lanes of a warp are: "lanes 0-3 at `bar.sync 0;`".
std::string whereabouts(const Warp& warp, Mask lanes) {
  std::vector<std::string> places;
  const auto add = [&](Mask some, const Operation& op) {
    if ((lanes & some) == 0) return;
    places.push_back(
        fmt::format("lanes {} are at {}", describe_lanes(lanes & some), describe_with_line(warp, op)));
    lanes &= ~some;
  };
  for (const Group& group : warp.flow().parked()) add(group.lanes, operation_before(warp, group));
  if (warp.look()) add(warp.look()->lanes, *warp.look()->op);
  return fmt::format("{}", fmt::join(places, ", "));
}

class Waits {
 public:
  explicit Waits(const Cluster& cluster) : cluster_(cluster) {
    for (const Block& block : cluster.blocks()) add_barriers(block);
    for (const Block& block : cluster.blocks()) add_looks(block);
    for (const Block& block : cluster.blocks()) add_parked(block);
  }
  const std::vector<Wait>& all() const { return waits_; }

 private:
  void add_barriers(const Block& block);
  void add_looks(const Block& block);
  void add_parked(const Block& block);
  std::string describe_parked(const Warp& warp, const Group& group) const;
  std::string describe_cluster_barrier() const;

  const Cluster& cluster_;
  std::vector<Wait> waits_;
};

void Waits::add_barriers(const Block& block) {
  for (std::size_t number = 0; number < Barriers::kCount; ++number) {
    const Barriers::Barrier& barrier = block.barriers().state()[number];
    if (barrier.waiting.empty()) continue;
    std::vector<std::string> warps;
    for (const Barriers::Waiter& waiter : barrier.waiting)
      warps.push_back(fmt::format("{}", waiter.warp->index()));
    const std::uint32_t live = block.live_threads(), exited = block.grid().block_threads() - live;
    std::string what = fmt::format("{} of {} threads wait here at barrier {}, in warp{} {}", barrier.arrived,
                                   barrier.count == 0 ? live : barrier.count, number,
                                   warps.size() == 1 ? "" : "s", fmt::join(warps, ", "));
    if (exited != 0) what += fmt::format("; {} threads of the thread block have exited", exited);
    const Barriers::Waiter& first = barrier.waiting.front();
    waits_.push_back({first.warp, first.op, first.lanes, std::move(what), "barrier-deadlock", kBarrierHint});
  }
}

void Waits::add_looks(const Block& block) {
  for (const Warp& warp : block.warps()) {
    if (!warp.vain() || warp.flow().live() == 0) continue;
    const Warp::Look& look = *warp.look();
    waits_.push_back({&warp, look.op, look.lanes, look.place.block->mbarriers().describe(look.place.offset),
                      "mbarrier-deadlock", kMbarrierHint});
  }
}

// Lanes that wait for others of their warp or warpgroup, or for the cluster.
void Waits::add_parked(const Block& block) {
  for (const Warp& warp : block.warps()) {
    for (const Group& group : warp.flow().parked()) {
      const std::string what = describe_parked(warp, group);
      if (what.empty()) continue;
      waits_.push_back(
          {&warp, &operation_before(warp, group), group.lanes, what, "barrier-deadlock", kMemberHint});
    }
  }
}

// Empty for lanes at a barrier of the thread block.
std::string Waits::describe_parked(const Warp& warp, const Group& group) const {
  if (const Mask absent = warp.awaited_by(group); absent != 0) {
    return fmt::format("lanes {} wait here for lanes {} of their member mask; {}",
                       describe_lanes(group.lanes), describe_lanes(absent), whereabouts(warp, absent));
  }
  if (const auto absent = warp.block().warpgroups().awaited_by(warp); !absent.empty()) {
    return fmt::format("it waits here for warp {} of its warpgroup", fmt::join(absent, ", "));
  }
  if ((cluster_.barrier().waiting(warp) & group.lanes) != 0) return describe_cluster_barrier();
  return {};
}

std::string Waits::describe_cluster_barrier() const {
  int absent = 0;
  const Warp* first = nullptr;
  for (const Block& block : cluster_.blocks()) {
    for (const Warp& warp : block.warps()) {
      const int lanes = std::popcount(cluster_.barrier().absent(warp));
      if (lanes != 0 && first == nullptr) first = &warp;
      absent += lanes;
    }
  }
  return fmt::format(
      "it waits here for {} threads that have not arrived at the barrier of the cluster, the first of them "
      "in {}: {}",
      absent, name_of(*first), whereabouts(*first, cluster_.barrier().absent(*first)));
}

}  // namespace

void report_deadlock(Cluster& cluster) {
  const Waits found(cluster);
  const std::vector<Wait>& waits = found.all();
  const Wait& first = waits.front();
  std::string text = first.what + ", forever: no other thread can make progress";
  const std::size_t others = std::min<std::size_t>(waits.size(), 8);
  for (std::size_t i = 1; i < others; ++i) {
    text += fmt::format("; {} waits at {}: {}", name_of(*waits[i].warp),
                        describe_with_line(*waits[i].warp, *waits[i].op), waits[i].what);
  }
  if (waits.size() > others) text += fmt::format("; and {} more wait", waits.size() - others);
  fault(*first.warp, *first.op, first.lanes, first.code, text, first.hint);
}

}  // namespace ptxloom::exec
