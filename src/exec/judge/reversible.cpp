// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/reversible.hpp"

#include <algorithm>

#include "exec/machine/cluster.hpp"
#include "exec/machine/work.hpp"

namespace ptxloom::exec {
namespace {

// Uses of a place that are remembered: the last ones, of each operation of a warp the last.
constexpr std::size_t kMostUses = 32;

}  // namespace

void ReversiblePairs::start(PlaceUses* grid) {
  own_.by_place.clear();
  grid_ = grid;
}

// The step is that of the instruction's first operation: a delay ends before an instruction.
PlaceUses::Use ReversiblePairs::use_of(const Actor& actor, bool changes) const {
  const Code& code = cluster_->grid().code();
  std::uint32_t first = code.number_of(*actor.op);
  std::uint64_t step = actor.warp->steps();
  for (; !code.operations[first].begins; --first) --step;
  return {.cluster = cluster_->index(),
          .step = step,
          .operation = code.number_of(*actor.op),
          .time = order_->now(),
          .party = order_->party_of(actor.warp->block().rank(), actor.warp->index()),
          .lane = static_cast<std::uint8_t>(actor.lane),
          .changes = changes};
}

bool ReversiblePairs::is_before(const Use& before, const Use& now) const {
  if (before.cluster != now.cluster)
    return order_->knows_other(now.party, now.lane, before.cluster, before.party, before.lane, before.time);
  return order_->knows(now.party, now.lane, before.party, before.lane, before.time);
}

void ReversiblePairs::note(const Use& first, const Delay& until) const {
  Delay delay = until;
  delay.cluster = first.cluster;
  delay.warp = first.party;
  delay.step = first.step;
  const Launch& launch = cluster_->grid().launch();
  launch.reversals->add(launch.schedule, delay, first.operation);
}

void ReversiblePairs::uses(const Actor& actor, const void* place, bool changes, bool global) {
  cluster_->work().delays().release_waiters(*actor.warp, *actor.op);
  if (cluster_->grid().launch().reversals == nullptr) return;
  const Use now = use_of(actor, changes);
  std::vector<Use>& uses = (global && grid_ != nullptr ? *grid_ : own_).by_place[place];
  const auto is_mine = [&](const Use& each) {
    return each.cluster == now.cluster && each.party == now.party;
  };
  const auto before = std::ranges::find_if(
      uses, [&](const Use& each) { return is_mine(each) && each.operation == now.operation; });
  if (before != uses.end() && before->step == now.step) return;  // another lane of the same instruction
  if (before != uses.end()) uses.erase(before);
  for (const Use& each : uses) {
    if (is_mine(each) || !(each.changes || changes) || is_before(each, now)) continue;
    note(each, {.until_cluster = now.cluster, .until_warp = now.party, .until_operation = now.operation});
  }
  if (uses.size() == kMostUses) uses.erase(uses.begin());
  uses.push_back(now);
}

void ReversiblePairs::tests_too_early(const Actor& actor) {
  if (cluster_->grid().launch().reversals == nullptr) return;
  note(use_of(actor, false), {.until_cluster = cluster_->index(), .until_warp = Delay::kCopies});
}

}  // namespace ptxloom::exec
