// SPDX-License-Identifier: Apache-2.0
#include "exec/control/cluster_barrier.hpp"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "exec/machine/cluster.hpp"
#include "exec/machine/fault.hpp"

namespace ptxloom::exec {
namespace {

constexpr WaitKind kWait{
    .code = "barrier-deadlock",
    .hint = "let every thread of the cluster that does not exit arrive (barrier.cluster.arrive)"};

}  // namespace

void ClusterBarrier::reset() {
  warps_.assign(cluster_->blocks().size() * cluster_->blocks().front().warps().size(), {});
}

std::size_t ClusterBarrier::number_of(const Warp& warp) const {
  return warp.block().rank() * warp.block().warps().size() + warp.index();
}

Mask ClusterBarrier::absent(const Warp& warp) const {
  return warp.flow().live() & ~arrivals_of(warp).arrived;
}

void ClusterBarrier::arrive(Warp& warp, const Operation& op, Mask lanes, bool relaxed) {
  Arrivals& mine = arrivals_of(warp);
  if ((mine.arrived & lanes) != 0) {
    fault(warp, op, mine.arrived & lanes, "barrier-count",
          "the thread arrives again before the barrier of the cluster is complete",
          "wait (barrier.cluster.wait) between two arrivals");
  }
  mine.arrived |= lanes;
  mine.passed &= ~lanes;
  if (Judge* judge = warp.judge()) {
    const Scope scope = cluster_->blocks().size() == 1 ? Scope::cta : Scope::cluster;
    relaxed ? judge->arrive_relaxed(warp, lanes, this, scope) : judge->arrive(warp, lanes, this);
  }
  recheck();
}

void ClusterBarrier::wait(Warp& warp, const Operation& op, Mask lanes) {
  Arrivals& mine = arrivals_of(warp);
  const Mask strange = lanes & ~(mine.arrived | mine.passed);
  if (strange != 0) {
    fault(warp, op, strange, "barrier-count",
          "the thread waits for the barrier of the cluster, but has not arrived",
          "arrive (barrier.cluster.arrive) before each wait");
  }
  mine.passed &= ~lanes;
  const Mask early = lanes & mine.arrived;
  if (Judge* judge = warp.judge(); judge != nullptr && early == 0) {
    judge->pass(warp, lanes, this);
    judge->meet_cluster(warp);
  }
  if (early == 0) return;
  mine.waiting |= early;
  warp.flow().park(early);
}

void ClusterBarrier::recheck() {
  for (const Block& block : cluster_->blocks()) {
    for (const Warp& warp : block.warps()) {
      if (absent(warp) != 0) return;
    }
  }
  Judge* const judge = cluster_->judge();
  if (judge != nullptr) judge->open_with_exited(this);
  for (Block& block : cluster_->blocks()) {
    for (Warp& warp : block.warps()) {
      Arrivals& mine = arrivals_of(warp);
      const Mask waited = std::exchange(mine.waiting, 0);
      if (judge != nullptr && waited != 0) {
        judge->pass(warp, waited, this);
        judge->meet_cluster(warp);
      }
      mine.passed = std::exchange(mine.arrived, 0) & ~waited;
      if (waited != 0) warp.flow().release(waited);
    }
  }
  cluster_->note_progress();
}

void ClusterBarrier::report(std::vector<Wait>& waits) const {
  for (const Block& block : cluster_->blocks()) {
    for (const Warp& warp : block.warps()) {
      const Mask waiting = arrivals_of(warp).waiting;
      for (const Group& group : warp.flow().parked()) {
        if ((waiting & group.lanes) == 0) continue;
        waits.push_back({&warp, &waits_at(warp, group), group.lanes, describe(), &kWait});
      }
    }
  }
}

std::string ClusterBarrier::describe() const {
  int threads = 0;
  const Warp* first = nullptr;
  for (const Block& block : cluster_->blocks()) {
    for (const Warp& warp : block.warps()) {
      const int lanes = std::popcount(absent(warp));
      if (lanes != 0 && first == nullptr) first = &warp;
      threads += lanes;
    }
  }
  return fmt::format(
      "it waits here for {} threads that have not arrived at the barrier of the cluster, the first of them "
      "in {}: {}",
      threads, name_of(*first), whereabouts(*first, absent(*first)));
}

}  // namespace ptxloom::exec
