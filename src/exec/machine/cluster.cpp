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

// Steps of each other warp after a fault.
constexpr std::uint64_t kLastSteps = 1'000;

// One warp in kRare is delayed, by up to 2^(kDelays - 1) turns; one copy in kEarly completes before anybody
// tests its mbarrier.
constexpr std::uint64_t kRare = 200, kDelays = 9, kEarly = 8;

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
  const std::uint64_t seed = grid_.launch().schedule.seed;
  if (seed != 0) random_.seed(seed ^ (index << 32));
  for (Block& block : blocks_) block.start(grid_.block_index(index, block.rank()));
  delayed_.assign(blocks_.size() * blocks_.front().warps().size(), 0);
  states_.reset();
  if (judge_) judge_->start();
}

bool Cluster::turn(std::uint64_t share) {
  ran_ = progress_ = false;
  if (grid_.launch().schedule.seed != 0) {
    turn_at_random();
  } else {
    for (Block& block : blocks_)
      for (Warp& warp : block.warps()) give(warp, share);
  }
  const bool alive = std::ranges::any_of(blocks_, [](const Block& block) { return !block.ended(); });
  if (!alive) return finish(), false;
  vain_turns_ = progress_ ? 0 : vain_turns_ + 1;
  if (!ran_ || vain_turns_ > kVainTurns) report_deadlock(*this);
  return true;
}

bool Cluster::spins() const {
  bool any = false;
  for (const Block& block : blocks_)
    for (const Warp& warp : block.warps()) {
      if (warp.flow().running() == 0) continue;  // it waits, or has exited
      if (!warp.spins() && !warp.vain()) return false;
      any |= warp.spins() && !warp.vain();
    }
  return any;
}

void Cluster::give(Warp& warp, std::uint64_t steps) {
  warp.flow().take_back();
  if (warp.flow().blocked()) return;
  ran_ = true;
  if (work_.delays().any()) steps = work_.delays().most(warp, steps);
  if (steps == 0) return;
  run(warp, steps);
  check_limit(warp);
  progress_ |= !warp.vain();
  if (Warp* const released = work_.delays().take_released_warp(*this)) give(*released, steps);
}

void Cluster::turn_at_random() {
  complete_copies([this] { return random_() % kEarly == 0; });
  for (Warp* warp : shuffled_warps()) {
    const std::uint64_t steps = 1 + random_() % kShortTurn;
    std::uint64_t& delayed = delayed_[number_in_cluster(*warp)];
    if (delayed == 0 && random_() % kRare == 0) delayed = std::uint64_t{1} << random_() % kDelays;
    if (delayed == 0) {
      give(*warp, steps);
    } else if (warp->flow().live() != 0) {
      --delayed;
      ran_ = true;  // or will
    }
  }
}

void Cluster::complete_copies(const std::function<bool()>& should_complete) {
  for (Block& block : blocks_) block.states().complete_copies(should_complete);
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
    if (grid_.launch().findings != nullptr && judge_ && judge_->found_undefined()) run_others(warp);
    throw;
  }
}

// Another warp may be about to store what the faulting one should have waited for. Then the race is the
// fault.
void Cluster::run_others(const Warp& faulting) {
  for (Block& block : blocks_)
    for (Warp& warp : block.warps()) {
      warp.flow().take_back();
      if (&warp == &faulting || warp.flow().blocked()) continue;
      try {
        warp.run(kLastSteps);
      } catch (const Error&) {  // which is among the findings
      }
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
