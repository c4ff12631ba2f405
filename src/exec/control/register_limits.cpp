// SPDX-License-Identifier: Apache-2.0
#include "exec/control/register_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>

#include "exec/machine/block.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/grid.hpp"
#include "exec/machine/warp.hpp"
#include "target/launch_limits.hpp"

namespace ptxloom::exec {

void RegisterLimits::reset() {
  counts_.clear();
  executed_.clear();
  registers_.clear();
  largest_ = {};
  most_ = 0;
}

// One that runs ahead of the others has not synchronised with them.
void RegisterLimits::check_row(Warp& warp, const Operation& op) {
  executed_.resize(block_->warps().size());
  const std::size_t first = warp.index() / kWarps * kWarps;
  const int mine = executed_[warp.index()]++;
  for (std::size_t i = first; i < std::min<std::size_t>(first + kWarps, executed_.size()); ++i) {
    if (executed_[i] >= mine) continue;
    return exec::report({&warp, &op, 0}, {.code = "setmaxnreg-warpgroup"},
                        "let the warps of the warpgroup meet at a barrier between two setmaxnreg", [&] {
                          return fmt::format(
                              "warp {} of its warpgroup has not executed the setmaxnreg before this one", i);
                        });
  }
}

void RegisterLimits::note(Warp& warp, const Operation& op, std::uint32_t registers) {
  check_row(warp, op);
  Count& count = counts_[{&op, warp.index() / kWarps}];
  ++count.executed[warp.index() % kWarps];
  count.warp = &warp;
  registers_.resize(block_->warps().size());
  registers_[warp.index()] = registers;
  if (registers <= most_) return;
  most_ = registers;
  largest_ = {&warp, &op};
}

void RegisterLimits::finish() {
  check_warpgroups();
  check_pool();
}

void RegisterLimits::check_warpgroups() {
  for (const auto& [key, count] : counts_) {
    const std::size_t warps = block_->warps().size();
    const std::size_t there = std::min<std::size_t>(warps - std::size_t{key.second} * kWarps, kWarps);
    const auto executed = std::span(count.executed).first(there);
    if (std::ranges::all_of(executed, [&](int times) { return times == executed[0]; })) continue;
    exec::report({count.warp, key.first, 0}, {.code = "setmaxnreg-warpgroup"},
                 "let all warps of the warpgroup execute the same setmaxnreg",
                 [] { return std::string("some warps of the warpgroup do not execute it"); });
  }
}

// Registers come in multiples of 8 for each thread.
std::uint64_t RegisterLimits::launched_with() const {
  const Code& code = block_->grid().code();
  if (code.kernel.maxnreg) return *code.kernel.maxnreg;
  const auto& most = code.kernel.reqntid ? code.kernel.reqntid : code.kernel.maxntid;
  if (!most) return 0;
  return code.sm.registers / (target::product(*most) * std::max(code.kernel.minnctapersm.value_or(1), 1u)) /
         8 * 8;
}

void RegisterLimits::check_pool() {
  const std::uint64_t each = launched_with();
  if (each == 0 || registers_.empty()) return;
  std::uint64_t wanted = 0;
  for (const std::uint64_t registers : registers_) wanted += registers == 0 ? each : registers;
  const std::uint64_t there = each * registers_.size();
  if (wanted <= there) return;
  exec::report(
      {largest_.first, largest_.second, 0}, {.code = "setmaxnreg-pool"},
      "release more in the other warpgroups (setmaxnreg.dec), or request less", [&] {
        return fmt::format(
            "the warps of the thread block want {} registers in all, but were launched with {}, {} for "
            "each thread: it "
            "waits forever",
            wanted * kLanes, there * kLanes, each);
      });
}

}  // namespace ptxloom::exec
