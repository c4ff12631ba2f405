// SPDX-License-Identifier: Apache-2.0
#include "exec/block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "exec/fault.hpp"
#include "exec/poison.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::exec {
namespace {

constexpr std::uint64_t kShare =
    100'000;  // steps of a warp before the next has its turn: for code that spins

}  // namespace

Block::Block(const Grid& grid, std::uint64_t* executed) : grid_(grid), executed_(executed), barriers_(*this) {
  shared_.resize(grid.shared_bytes());
  const std::uint32_t warps = (grid.block_threads() + kLanes - 1) / kLanes;
  for (std::uint32_t i = 0; i < warps; ++i) warps_.emplace_back(*this, i);
}

void Block::run(std::uint64_t index) {
  linear_index_ = index;
  index_ = unflatten(index, grid_.launch().grid);
  std::ranges::fill(shared_, static_cast<std::byte>(kPoison));
  barriers_.reset();
  for (Warp& warp : warps_) warp.reset();
  bool alive = true;
  while (alive) {
    bool progress = false;
    alive = false;
    for (Warp& warp : warps_) {
      if (!warp.flow().blocked()) {
        warp.run(kShare);
        check_limit(warp);
        progress = true;
      }
      alive |= warp.flow().live() != 0;
    }
    if (alive && !progress) report_deadlock();
  }
}

std::uint32_t Block::live_threads() const {
  std::uint32_t threads = 0;
  for (const Warp& warp : warps_) threads += static_cast<std::uint32_t>(std::popcount(warp.flow().live()));
  return threads;
}

void Block::check_limit(const Warp& warp) const {
  const std::uint64_t limit = grid_.launch().step_limit;
  if (limit == 0 || warp.steps() < limit || warp.flow().blocked()) return;
  const Operation& op = grid_.code().operations[warp.flow().current().pc];
  fault(warp, op, warp.flow().current().lanes, "step-limit",
        fmt::format("the warp has done {} instructions and is still running", warp.steps()),
        "look for a loop that never ends, or raise Launch::step_limit");
}

// Names the first barrier with waiting threads, and where threads are that never came.
void Block::report_deadlock() const {
  const auto& barriers = barriers_.state();
  const auto waited =
      std::ranges::find_if(barriers, [](const auto& barrier) { return !barrier.waiting.empty(); });
  if (waited == barriers.end()) {
    const auto warp = std::ranges::find_if(warps_, [](const Warp& w) { return w.flow().live() != 0; });
    const Group& group = warp->flow().parked().front();
    fault(*warp, grid_.code().operations[group.pc - 1], group.lanes, "barrier-deadlock",
          "it waits for lanes of its warp that never come here",
          "name only lanes that reach this instruction in its member mask");
  }
  const Barriers::Waiter& waiter = waited->waiting.front();
  std::string others;
  for (const auto& barrier : barriers) {
    if (&barrier == &*waited || barrier.waiting.empty()) continue;
    const Barriers::Waiter& other = barrier.waiting.front();
    others += fmt::format("; warp {} waits with {} threads at {}", other.warp->index(), barrier.arrived,
                          describe(*other.warp, *other.op));
  }
  const std::uint32_t expected = waited->count == 0 ? live_threads() : waited->count;
  fault(*waiter.warp, *waiter.op, waiter.lanes, "barrier-deadlock",
        fmt::format("{} of {} threads wait here forever: no other thread can run{}", waited->arrived,
                    expected, others),
        "let every thread that is counted reach the same barrier, or give the barrier the count of those "
        "that do");
}

}  // namespace ptxloom::exec
