// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/detour.hpp"

#include <bit>
#include <string>
#include <vector>

#include "exec/machine/block.hpp"
#include "exec/machine/call.hpp"
#include "exec/machine/code.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/grid.hpp"
#include "exec/machine/wait.hpp"

namespace ptxloom::exec {
namespace {

bool jumps(const Operation& op) { return op.target != 0 && !op.guarded; }

// Whether nothing but jumps comes before the end of the thread.
bool only_exits(const Code& code, std::uint32_t pc) {
  for (int most = 8; most != 0 && jumps(code.operations[pc]); --most) pc = code.operations[pc].target;
  const Operation& op = code.operations[pc];
  return op.ends && !op.guarded && op.run != &run_return;
}

// Calls f(pc) for the functions that a call may enter.
template <class F>
void for_entries(const Code& code, const CallPlan& plan, F f) {
  if (!plan.address) return f(code.callees[plan.callee].entry);
  for (const Callee& callee : code.callees) f(callee.entry);
}

// Calls f(pc) for what may come after an operation. A function may return to any call.
template <class F>
void for_successors(const Code& code, std::uint32_t pc, F f) {
  const Operation& op = code.operations[pc];
  if (op.target != 0) f(op.target);
  if (op.by_index)
    for (const std::uint32_t target : op.plan_as<std::vector<std::uint32_t>>()) f(target);
  if (op.run == &run_call) for_entries(code, op.plan_as<CallPlan>(), f);
  if (op.run == &run_return)
    for (const Operation& call : code.operations)
      if (call.run == &run_call) f(code.number_of(call) + 1);
  if (op.guarded || !(op.target != 0 || op.by_index || op.ends)) f(pc + 1);
}

using Successors = std::vector<std::vector<std::uint32_t>>;

// By program counter: what may come after each, and before it.
struct Paths {
  Successors after, before;
};

Paths paths_of(const Code& code) {
  const std::size_t count = code.operations.size();
  Paths paths{.after = Successors(count), .before = Successors(count)};
  for (std::uint32_t pc = 0; pc < count; ++pc)
    for_successors(code, pc, [&](std::uint32_t successor) {
      if (successor >= count) return;
      paths.after[pc].push_back(successor);
      paths.before[successor].push_back(pc);
    });
  return paths;
}

std::vector<bool> reached(const Successors& successors, std::vector<std::uint32_t> from) {
  std::vector<bool> seen(successors.size());
  while (!from.empty()) {
    const std::uint32_t pc = from.back();
    from.pop_back();
    if (seen[pc]) continue;
    seen[pc] = true;
    from.insert(from.end(), successors[pc].begin(), successors[pc].end());
  }
  return seen;
}

}  // namespace

void Detours::reset() {
  for (auto& [op, around] : around_) around.reported = 0;
}

Detours::Around& Detours::around(const Operation& op) {
  const auto [place, is_new] = around_.try_emplace(&op);
  if (!is_new) return place->second;
  const Code& code = warp_->block().grid().code();
  const std::uint32_t here = code.number_of(op);
  const Paths paths = paths_of(code);
  std::vector<bool>& beyond = place->second.beyond;
  beyond = reached(paths.after, paths.after[here]);
  const std::vector<bool> leads_here = reached(paths.before, {here});
  for (std::uint32_t pc = 0; pc < beyond.size(); ++pc)
    if (leads_here[pc] || only_exits(code, pc)) beyond[pc] = false;
  return place->second;
}

void Detours::look(const Operation& op, Mask lanes, Mask absent) {
  if (warp_->block().grid().launch().findings == nullptr) return;
  const std::vector<bool>& beyond = around(op).beyond;
  report_lanes(op, lanes, absent & warp_->flow().lanes_at([&](std::uint32_t pc) { return beyond[pc]; }));
}

void Detours::look_at_current() {
  const Group& current = warp_->flow().current();
  for (const Group& group : warp_->flow().parked()) {
    const Mask absent = group.whole ? 0 : warp_->awaited_by(group) & current.lanes;
    if (absent == 0) continue;
    const Operation& op = waits_at(*warp_, group);
    if (around(op).beyond[current.pc]) report_lanes(op, group.lanes, absent);
  }
}

void Detours::report_lanes(const Operation& op, Mask lanes, Mask gone) {
  Mask& reported = around(op).reported;
  gone &= ~reported;
  if (gone == 0) return;
  reported |= gone;
  exec::report({warp_, &op, std::countr_zero(lanes)}, {.code = "warp-divergence"},
               "compute the member mask of the threads that execute the instruction before they diverge, by "
               "vote.sync.ballot, or move it out of the branch",
               [&] {
                 return "lanes " + describe_lanes(gone) +
                        " are in the member mask, but have gone around this instruction";
               });
}

}  // namespace ptxloom::exec
