// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/detour.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "exec/machine/block.hpp"
#include "exec/machine/call.hpp"
#include "exec/machine/code.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/grid.hpp"
#include "exec/machine/wait.hpp"

namespace ptxloom::exec {
namespace {

// Whether nothing but jumps comes before the end of the thread.
bool only_exits(const Code& code, std::uint32_t pc) {
  const auto jumps = [](const Operation& op) { return op.branches && !op.guarded; };
  for (int most = 8; most != 0 && jumps(code.operations[pc]); --most) pc = code.operations[pc].target;
  const Operation& op = code.operations[pc];
  return op.ends && !op.guarded && op.run != &run_return;
}

bool is_counterpart(const Operation& op, const Operation& other) {
  return other.run == op.run && other.together == op.together && other.guarded &&
         other.guard.offset == op.guard.offset && other.guard.negated != op.guard.negated;
}

// Where those are whose guard is false at `op`, and who come to one of its kind for them before any jump.
std::vector<CodeRange> before_counterparts(const Code& code, const Operation& op) {
  std::vector<CodeRange> ranges;
  if (!op.guarded) return ranges;
  std::uint32_t begin = 0;
  for (std::uint32_t pc = 0; pc < code.operations.size(); ++pc) {
    const Operation& next = code.operations[pc];
    if (next.branches || next.by_index || next.ends || next.is_call) {
      begin = pc + 1;
    } else if (is_counterpart(op, next)) {
      ranges.push_back({begin, pc});
    }
  }
  return ranges;
}

}  // namespace

void Detours::reset() {
  for (auto& [op, around] : around_) around.reported = 0;
}

const Code& Detours::code() const { return warp_->block().grid().code(); }

Detours::Around& Detours::around(const Operation& op) {
  Around& around = around_[&op];
  if (around.beyond == nullptr) {
    around.beyond = &warp_->block().grid().paths()->beyond(code().number_of(op));
    around.before_counterparts = before_counterparts(code(), op);
  }
  return around;
}

bool Detours::has_gone(const Operation& op, std::uint32_t pc) {
  const Around& known = around(op);
  const auto holds = [pc](const CodeRange& range) { return range.first <= pc && pc <= range.last; };
  return warp_->block().grid().paths()->is_beyond(*known.beyond, code().number_of(op), pc) &&
         !only_exits(code(), pc) && std::ranges::none_of(known.before_counterparts, holds);
}

void Detours::look(const Operation& op, Mask lanes, Mask absent) {
  if (warp_->block().grid().paths() == nullptr) return;
  report_lanes(op, lanes,
               absent & warp_->flow().lanes_at([&](std::uint32_t pc) { return has_gone(op, pc); }));
}

void Detours::look_at_current() {
  const Group& current = warp_->flow().current();
  for (const Group& group : warp_->flow().parked()) {
    Mask absent = group.whole ? 0 : warp_->awaited_by(group) & current.lanes;
    if (absent == 0) continue;
    const Operation& op = waits_at(*warp_, group);
    absent &= ~around(op).reported;
    if (absent != 0 && has_gone(op, current.pc)) report_lanes(op, group.lanes, absent);
  }
}

void Detours::report_lanes(const Operation& op, Mask lanes, Mask gone) {
  if (gone == 0) return;
  Mask& reported = around_[&op].reported;
  gone &= ~reported;
  if (gone == 0) return;
  reported |= gone;
  exec::report({warp_, &op, std::countr_zero(lanes)}, {.code = "warp-divergence"},
               "compute the member mask of the threads that execute the instruction before they diverge, by "
               "vote.sync.ballot, or move it out of the branch",
               [&] {
                 const bool one = std::has_single_bit(gone);
                 return (one ? "lane " : "lanes ") + describe_lanes(gone) +
                        (one ? " is in the member mask, but has" : " are in the member mask, but have") +
                        " gone around this instruction";
               });
}

}  // namespace ptxloom::exec
