// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/detour.hpp"

#include <bit>
#include <string>
#include <vector>

#include "exec/machine/block.hpp"
#include "exec/machine/code.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/grid.hpp"

namespace ptxloom::exec {
namespace {

bool ends(const Operation& op) { return op.ends && !op.guarded; }

bool jumps(const Operation& op) { return op.target != 0 && !op.guarded; }

// Whether nothing but jumps comes before the end of the thread.
bool only_exits(const Code& code, std::uint32_t pc) {
  for (int most = 8; most != 0 && jumps(code.operations[pc]); --most) pc = code.operations[pc].target;
  return ends(code.operations[pc]);
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
    const Operation& op = code.operations[pc];
    if (op.target != 0) next.push_back(op.target);
    if (!jumps(op) && !ends(op)) next.push_back(pc + 1);
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
