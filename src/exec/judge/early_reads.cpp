// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/early_reads.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "exec/judge/global_races.hpp"
#include "exec/machine/cluster.hpp"

namespace ptxloom::exec {

void GridWaits::start() {
  add_counts();
  reads_ = cluster_->grid().early_reads();
  waits_.clear();
}

void GridWaits::waits(const Warp& warp, Mask lanes) {
  if (reads_ == nullptr || reads_->late) return;
  reads_->waited = true;
  const Party party = order_->party_of(warp.block().rank(), warp.index());
  const auto is_same = [&](const Wait& wait) { return wait.party == party && wait.lanes == lanes; };
  if (std::ranges::none_of(waits_, is_same)) waits_.push_back({party, lanes, order_->now()});
}

bool GridWaits::is_after(const Actor& actor) const {
  const Party party = order_->party_of(actor.warp->block().rank(), actor.warp->index());
  const auto lane = static_cast<std::uint8_t>(actor.lane);
  return std::ranges::any_of(waits_, [&](const Wait& wait) {
    if (wait.party == party && (wait.lanes >> lane & 1) != 0) return true;
    const auto waiter = static_cast<std::uint8_t>(std::countr_zero(wait.lanes));
    return order_->knows(party, lane, wait.party, waiter, wait.time);
  });
}

void GridWaits::reads(const Actor& actor, const std::byte* memory, std::uint32_t bytes) {
  if (reads_ == nullptr || reads_->late || global_->wrote_all(memory, bytes)) return;
  if (is_after(actor)) {
    reads_->late = true;
    return;
  }
  if (const auto known = repeated_.find(actor.op); known != repeated_.end()) {
    ++known->second.times;
  } else {
    repeated_.emplace(actor.op, Repeated{.key = report(actor)});
  }
}

void GridWaits::add_counts() {
  for (const auto& [op, repeated] : std::exchange(repeated_, {}))
    reads_->found.count_again(repeated.key, repeated.times);
}

Findings::Key GridWaits::report(const Actor& actor) {
  const Code& code = cluster_->grid().code();
  const Misuse misuse{.code = "grid-dependency",
                      .other_warp = actor.warp,
                      .other_op = &code.operations[*code.grid_wait],
                      .other_lane = actor.lane};
  return report_to(
      reads_->found, actor, misuse, "read what earlier grids write after griddepcontrol.wait", [] {
        return "it reads global memory before griddepcontrol.wait, and nothing reads any after it: what an "
               "earlier grid writes may not be there yet";
      });
}

}  // namespace ptxloom::exec
