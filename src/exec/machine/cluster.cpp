// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/cluster.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "exec/machine/fault.hpp"
#include "exec/machine/work.hpp"

namespace ptxloom::exec {
namespace {

// A deadlock is reported after this many turns that only test barriers: more than any legitimate use takes.
constexpr std::uint64_t kVainTurns = 10'000;

// Most steps of a turn at random: less than most critical sections take.
constexpr std::uint64_t kShortTurn = 40;

}  // namespace

Cluster::Cluster(const Grid& grid, Work& work, Counts& counts)
    : grid_(grid),
      work_(work),
      judge_(grid.launch().judge ? std::make_unique<Judge>(*this) : nullptr),
      traffic_(counts.empty() ? nullptr : std::make_unique<Traffic>(counts)),
      tracer_(grid.launch().trace ? std::make_unique<Tracer>(grid) : nullptr) {
  for (std::uint32_t rank = 0; rank < grid.cluster_blocks(); ++rank) blocks_.emplace_back(*this, rank);
}

void Cluster::start(std::uint64_t index) {
  index_ = index;
  vain_turns_ = 0;
  if (grid_.launch().schedule != 0) random_.seed(grid_.launch().schedule ^ (index << 32));
  for (Block& block : blocks_) block.start(grid_.block_index(index, block.rank()));
  states_.reset();
  if (judge_) judge_->start();
}

bool Cluster::turn(std::uint64_t share) {
  bool ran = false, alive = false;
  progress_ = false;
  const auto give = [&](Warp& warp, std::uint64_t steps) {
    warp.flow().take_back();
    if (!warp.flow().blocked()) {
      run(warp, steps);
      check_limit(warp);
      ran = true;
      progress_ |= !warp.vain();
    }
    alive |= warp.flow().live() != 0;
  };
  if (grid_.launch().schedule != 0) {
    for (Warp* warp : shuffled_warps()) give(*warp, 1 + random_() % kShortTurn);
  } else {
    for (Block& block : blocks_)
      for (Warp& warp : block.warps()) give(warp, share);
  }
  if (!alive) return finish(), false;
  vain_turns_ = progress_ ? 0 : vain_turns_ + 1;
  if (!ran || vain_turns_ > kVainTurns) report_deadlock(*this);
  return true;
}

std::vector<Warp*> Cluster::shuffled_warps() {
  std::vector<Warp*> warps;
  for (Block& block : blocks_)
    for (Warp& warp : block.warps()) warps.push_back(&warp);
  std::ranges::shuffle(warps, random_);
  return warps;
}

void Cluster::run(Warp& warp, std::uint64_t share) {
  const std::uint64_t limit = grid_.launch().step_limit;
  try {
    warp.run(limit == 0 ? share : std::min(share, limit - warp.steps()));
    // Turns end between instructions: the judge follows one at a time.
    while (!warp.flow().blocked() && !grid_.code().operations[warp.flow().current().pc].begins) warp.run(1);
  } catch (...) {
    if (tracer_) tracer_->end();  // the faulting instruction belongs to the trace
    throw;
  }
}

void Cluster::finish() {
  if (traffic_) traffic_->flush();
  for (Block& block : blocks_) {
    block.states().finish();
    for (Warp& warp : block.warps()) warp.states().finish();
  }
  states_.finish();
  if (grid_.code().prints) work_.printer().ended(index_);
}

void Cluster::check_limit(const Warp& warp) const {
  const std::uint64_t limit = grid_.launch().step_limit;
  if (limit == 0 || warp.steps() < limit || warp.flow().blocked()) return;
  const Operation& op = grid_.code().operations[warp.flow().current().pc];
  fault(warp, op, warp.flow().current().lanes, "step-limit",
        fmt::format("the warp has executed {} instructions and is still running", warp.steps()),
        "look for a loop that never ends, or raise Launch::step_limit");
}

}  // namespace ptxloom::exec
