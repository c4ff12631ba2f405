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

bool leads_to(const Code& code, std::uint32_t from, std::uint32_t to) {
  std::vector<bool> seen(code.operations.size());
  std::vector<std::uint32_t> next{from};
  while (!next.empty()) {
    const std::uint32_t pc = next.back();
    next.pop_back();
    if (pc == to) return true;
    if (pc >= seen.size() || seen[pc]) continue;
    seen[pc] = true;
    for_successors(code, pc, [&](std::uint32_t successor) { next.push_back(successor); });
  }
  return false;
}

}  // namespace

void report_detour(Warp& warp, const Operation& op, Mask lanes, Mask absent) {
  const Grid& grid = warp.block().grid();
  if (grid.launch().findings == nullptr) return;
  const Code& code = grid.code();
  const std::uint32_t here = code.number_of(op), after = here + 1;
  const Mask beyond = warp.flow().lanes_at([&](std::uint32_t pc) {
    return pc >= after && !only_exits(code, pc) && leads_to(code, after, pc) && !leads_to(code, pc, here);
  });
  if ((beyond & absent) == 0) return;
  report({&warp, &op, std::countr_zero(lanes)}, {.code = "warp-divergence"},
         "compute the member mask of the threads that execute the instruction before they diverge, by "
         "vote.sync.ballot, or move it out of the branch",
         [&] {
           return "lanes " + describe_lanes(beyond & absent) +
                  " are in the member mask, but have gone around this instruction";
         });
}

}  // namespace ptxloom::exec
