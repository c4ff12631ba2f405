// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/delays.hpp"

#include <algorithm>
#include <utility>

#include "exec/machine/cluster.hpp"

namespace ptxloom::exec {
namespace {

// Turns that a warp is delayed if the one that it waits for does not come: it may be waiting for this one.
// Fewer than the tries after which lanes that wait let others of their warp run.
constexpr std::uint64_t kMostTurns = 500;

}  // namespace

std::uint32_t number_in_cluster(const Warp& warp) {
  return warp.block().rank() * static_cast<std::uint32_t>(warp.block().warps().size()) + warp.index();
}

Delays::Delays(const Schedule& schedule) {
  for (const Delay& each : schedule.delays) delays_.push_back({.delay = each});
}

std::uint64_t Delays::most(Warp& warp, std::uint64_t steps) {
  for (State& each : delays_) {
    const Delay& delay = each.delay;
    if (each.over || delay.cluster != warp.block().cluster().index() ||
        delay.warp != number_in_cluster(warp) || warp.steps() > delay.step)
      continue;
    if (warp.steps() < delay.step) {
      steps = std::min(steps, delay.step - warp.steps());
    } else if (delay.until_warp == Delay::kCopies) {
      each.over = true;
      warp.block().cluster().complete_copies([] { return true; });
    } else if (each.turns++ == kMostTurns) {
      each.over = true;
    } else {
      each.waits = &warp;
      return 0;
    }
  }
  return steps;
}

void Delays::release_waiters(Warp& warp, const Operation& op) {
  for (State& each : delays_) {
    const Delay& delay = each.delay;
    if (each.over || each.waits == nullptr || delay.until_cluster != warp.block().cluster().index() ||
        delay.until_warp != number_in_cluster(warp) ||
        delay.until_operation != warp.block().grid().code().number_of(op))
      continue;
    each.over = true;
    released_ = each.waits;
    warp.yield();
  }
}

Warp* Delays::take_released_warp(const Cluster& cluster) {
  if (released_ == nullptr || &released_->block().cluster() != &cluster) return nullptr;
  return std::exchange(released_, nullptr);
}

}  // namespace ptxloom::exec
