// SPDX-License-Identifier: Apache-2.0
#include "exec/control/barrier.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <string>
#include <utility>

#include "exec/machine/block.hpp"
#include "exec/machine/cluster.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/warp.hpp"

namespace ptxloom::exec {
namespace {

constexpr WaitKind kWait{
    .code = "barrier-deadlock",
    .hint = "let every thread that is counted reach the same barrier, or reduce its thread count"};

// bar.red gives each waiting thread the result over all of them; the first operand is the destination.
void deliver_votes(const Barriers::Waiter& waiter, const Barriers::Barrier& barrier) {
  const Operation& op = *waiter.op;
  const auto& reduction = op.plan_as<BarrierPlan>().reduction;
  if (!reduction) return;
  std::byte* registers = waiter.warp->registers();
  switch (*reduction) {
    case BarrierReduction::popc: {
      const Lanes<std::uint32_t> out(registers, op.slots[0]);
      for_lanes(waiter.lanes, [&](int lane) { out.set(lane, barrier.votes); });
      return;
    }
    case BarrierReduction::all:
      return Lanes<bool>(registers, op.slots[0])
          .set(waiter.lanes, barrier.votes == barrier.voters ? kAllLanes : 0);
    case BarrierReduction::any:
      return Lanes<bool>(registers, op.slots[0]).set(waiter.lanes, barrier.votes != 0 ? kAllLanes : 0);
  }
}

}  // namespace

void Barriers::arrive(Warp& warp, const Operation& op, Mask mask, const Arrival& arrival) {
  if (arrival.barrier >= kCount) {
    fault(warp, op, mask, "barrier-number", "there is no barrier " + std::to_string(arrival.barrier),
          "use barriers 0 to 15");
  }
  if (arrival.count % kLanes != 0) {
    fault(warp, op, mask, "barrier-count",
          "the thread count " + std::to_string(arrival.count) + " is not a multiple of the warp size",
          "use a multiple of the warp size: a barrier counts whole warps");
  }
  if (arrival.aligned && !warp.whole(op, mask)) return;
  Barrier& barrier = barriers_[arrival.barrier];
  if (barrier.used && barrier.count != arrival.count) {
    fault(warp, op, mask, "barrier-count",
          "barrier " + std::to_string(arrival.barrier) + " already waits for " +
              describe_count(barrier.count) + ", but this instruction expects " +
              describe_count(arrival.count),
          "use the same thread count in all instructions that meet at a barrier");
  }
  check_phase(warp, op, mask, barrier);
  barrier.used = true;
  barrier.count = arrival.count;
  const auto lanes = static_cast<std::uint32_t>(std::popcount(mask));
  barrier.arrived += arrival.count != 0 && arrival.aligned ? kLanes : lanes;
  barrier.voters += lanes;
  barrier.votes += static_cast<std::uint32_t>(std::popcount(arrival.votes & mask));
  if (barrier.count != 0 && barrier.arrived > barrier.count) {
    fault(warp, op, mask, "barrier-count",
          std::to_string(barrier.arrived) + " threads have arrived at barrier " +
              std::to_string(arrival.barrier) + ", which expects " + std::to_string(barrier.count),
          "use a count that includes all warps that arrive at this barrier");
  }
  if (Judge* judge = warp.judge()) judge->arrive(warp, mask, &barrier);
  if (arrival.waits) {
    barrier.waiting.push_back({.warp = &warp, .lanes = mask, .op = &op});
    warp.flow().park(mask);
  }
  if (complete(barrier)) open(barrier);
}

void Barriers::exited() {
  for (Barrier& barrier : barriers_) {
    if (barrier.used && complete(barrier)) open(barrier);
  }
}

// Threads that arrive at a barrier without knowing that its last phase is over may as well arrive in that
// phase.
void Barriers::check_phase(Warp& warp, const Operation& op, Mask mask, const Barrier& barrier) const {
  Judge* const judge = warp.judge();
  if (judge == nullptr || block_->grid().launch().findings == nullptr || barrier.last == nullptr) return;
  if (judge->knows_opening(warp, mask, &barrier)) return;
  exec::report(
      {&warp, &op, std::countr_zero(mask)},
      {.code = "barrier-phase", .other_warp = &warp, .other_op = barrier.last},
      "use another barrier number for other threads, or let them synchronise before they use it again", [&] {
        return fmt::format(
            "it arrives at barrier {}, and nothing orders that after the phase that {} completed",
            &barrier - barriers_.data(), describe_with_line(warp, *barrier.last));
      });
}

bool Barriers::complete(const Barrier& barrier) const {
  return barrier.arrived == (barrier.count != 0 ? barrier.count : block_->live_threads());
}

// An instruction that takes part in the phase.
const Operation* Barriers::opener(const Barrier& barrier) {
  return barrier.waiting.empty() ? barrier.last : barrier.waiting.back().op;
}

void Barriers::open(Barrier& barrier) {
  const Barrier opened = std::exchange(barrier, {.waiting = {}, .last = opener(barrier)});
  Judge* const judge = block_->cluster().judge();
  if (judge != nullptr)
    opened.count == 0 ? judge->open_with_exited(&barrier, block_->rank()) : judge->open(&barrier);
  for (const Waiter& waiter : opened.waiting) {
    if (judge != nullptr) judge->pass(*waiter.warp, waiter.lanes, &barrier);
    deliver_votes(waiter, opened);
    waiter.warp->flow().release(waiter.lanes);
  }
}

void Barriers::report(std::vector<Wait>& waits) const {
  for (const Barrier& barrier : barriers_) {
    if (barrier.waiting.empty()) continue;
    const Waiter& first = barrier.waiting.front();
    waits.push_back({first.warp, first.op, first.lanes, describe(barrier), &kWait});
  }
}

std::string Barriers::describe(const Barrier& barrier) const {
  std::vector<std::string> warps;
  for (const Waiter& waiter : barrier.waiting) warps.push_back(fmt::format("{}", waiter.warp->index()));
  const std::uint32_t live = block_->live_threads(), exited = block_->grid().block_threads() - live;
  std::string what = fmt::format("{} of {} threads wait here at barrier {}, in warp{} {}", barrier.arrived,
                                 barrier.count == 0 ? live : barrier.count, &barrier - barriers_.data(),
                                 warps.size() == 1 ? "" : "s", fmt::join(warps, ", "));
  if (exited != 0) what += fmt::format("; {} threads of the thread block have exited", exited);
  return what;
}

}  // namespace ptxloom::exec
