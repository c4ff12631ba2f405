// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "exec/machine/cluster.hpp"
#include "exec/machine/fault.hpp"

// Who waits for what, when nothing can happen any more.
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

void add_barriers(const Block& block, std::vector<Wait>& waits) {
  for (const Barriers::Barrier& barrier : block.barriers().state()) {
    if (barrier.waiting.empty()) continue;
    const Barriers::Waiter& waiter = barrier.waiting.front();
    const std::uint32_t expected = barrier.count == 0 ? block.live_threads() : barrier.count;
    waits.push_back({waiter.warp, waiter.op, waiter.lanes,
                     fmt::format("{} of {} threads wait here", barrier.arrived, expected), "barrier-deadlock",
                     "let every thread that is counted reach the same barrier, or give the barrier the count "
                     "of those that do"});
  }
}

void add_looks(const Block& block, std::vector<Wait>& waits) {
  for (const Warp& warp : block.warps()) {
    if (!warp.vain() || warp.flow().live() == 0) continue;
    const Warp::Look& look = *warp.look();
    waits.push_back({&warp, look.op, look.lanes, look.place.block->mbarriers().describe(look.place.offset),
                     "mbarrier-deadlock",
                     "count the arrivals and bytes of the phase: each must come, and each must be expected"});
  }
}

// Lanes that wait for others of their warp, or for the cluster.
void add_parked(const Block& block, std::vector<Wait>& waits) {
  for (const Warp& warp : block.warps()) {
    if (warp.flow().parked().empty()) continue;
    const Group& group = warp.flow().parked().front();
    waits.push_back({&warp, &block.grid().code().operations[group.pc - 1], group.lanes,
                     "it waits for threads that never come here", "barrier-deadlock",
                     "let all threads that are waited for reach this instruction: name only such lanes in a "
                     "member mask"});
  }
}

}  // namespace

void report_deadlock(Cluster& cluster) {
  std::vector<Wait> waits;
  for (const Block& block : cluster.blocks()) add_barriers(block, waits);
  for (const Block& block : cluster.blocks()) add_looks(block, waits);
  if (waits.empty()) {
    for (const Block& block : cluster.blocks()) add_parked(block, waits);
  }
  const Wait& first = waits.front();
  std::string text = first.what + " forever: no other thread can run";
  const std::size_t others = std::min<std::size_t>(waits.size(), 8);
  for (std::size_t i = 1; i < others; ++i) {
    text += fmt::format("; warp {} of block {} waits at {}: {}", waits[i].warp->index(),
                        waits[i].warp->block().rank(), describe(*waits[i].warp, *waits[i].op), waits[i].what);
  }
  fault(*first.warp, *first.op, first.lanes, first.code, text, first.hint);
}

}  // namespace ptxloom::exec
