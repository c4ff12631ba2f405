// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>

#include "exec/judge/judge.hpp"
#include "exec/machine/detour.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/rendezvous.hpp"
#include "exec/machine/warp.hpp"

// Whole-warp (.sync) instructions name the threads that take part in a member mask.
namespace ptxloom::exec {

/// Calls f(lanes, members) for each member mask that lanes of `mask` pass in operand `slot`. A thread that is
/// not in its own mask is a fault.
template <class F>
void for_member_groups(Warp& warp, const Operation& op, Mask mask, const Slot& slot, F f) {
  const Lanes<Mask> masks(warp.registers(), slot);
  while (mask != 0) {
    const Mask members = masks[std::countr_zero(mask)];
    Mask lanes = 0;
    for_lanes(mask, [&](int lane) { lanes |= Mask{masks[lane] == members} << lane; });
    mask &= ~lanes;
    if ((lanes & ~members) != 0) {
      fault(warp, op, lanes & ~members, "member-mask",
            "the thread is not in its own member mask, which has lanes " + describe_lanes(members),
            "name every thread that executes the instruction in its member mask");
    }
    f(lanes, members);
  }
}

/// Calls f(lanes) for each complete set of threads with the same member mask. Other threads wait until all
/// live members have reached the instruction, or others of its kind (rendezvous.hpp). Returns the lanes that
/// are still to be executed.
template <class F>
Mask for_whole_groups(Warp& warp, const Operation& op, Mask mask, const Slot& slot, F f) {
  Mask whole = 0;
  for_member_groups(warp, op, mask, slot, [&](Mask lanes, Mask named) {
    const Mask members = named & warp.flow().live();
    if (const Mask others = members & mask & ~lanes; others != 0)
      fault(
          warp, op, lanes, "member-mask",
          "lanes " + describe_lanes(others) + " of its member mask execute the instruction with another mask",
          "compute the member mask before threads differ, and pass the same one in all of its threads");
    if ((members & ~lanes) != 0) {
      if (meet_elsewhere(warp, op, lanes, named)) return;
      warp.state<Detours>().look(op, lanes, members & ~lanes);
      return warp.flow().wait_here(lanes, members);
    }
    whole |= lanes;
    f(lanes);
    Judge* const judge = warp.judge();
    if (judge != nullptr && (warp.flow().live() & ~lanes) == 0) judge->converge(warp);
  });
  return whole;
}

/// A fault unless `lanes` include all of `wanted`.
inline void require_lanes(Warp& warp, const Operation& op, Mask lanes, Mask wanted) {
  if ((wanted & ~lanes) == 0) return;
  fault(warp, op, lanes, "warp-divergence",
        "lanes " + describe_lanes(wanted & ~lanes) +
            " are in the member mask, but do not reach this instruction",
        "let all threads of the member mask reach the instruction together, outside divergent branches");
}

/// The same for all 32 lanes, as mma, ldmatrix and similar instructions require.
inline void require_full_warp(Warp& warp, const Operation& op, Mask lanes) {
  require_lanes(warp, op, lanes, kAllLanes);
}

}  // namespace ptxloom::exec
