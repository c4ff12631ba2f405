// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>

#include "exec/judge/horizon.hpp"

// How two accesses are related, in shared memory (Touch) and in global memory (GlobalTouch).
namespace ptxloom::exec {

/// Whether they are of one instruction. Its lanes may write the same value to one place; Judge::lost reports
/// different ones.
template <class Touch>
bool together(const Touch& one, const Touch& other) {
  if constexpr (requires { one.cluster; })
    if (one.cluster != other.cluster) return false;
  return one.party == other.party && one.operation == other.operation && one.time == other.time;
}

/// ... and of one lane.
template <class Touch>
bool is_same(const Touch& one, const Touch& other) {
  return together(one, other) && one.lane == other.lane;
}

/// Calls holds(touch) for each of these lanes, until it is false for one: what other lanes of their warp know
/// differs.
template <class Touch, class F>
bool all_lanes(Touch touch, Mask lanes, F holds) {
  for (; lanes != 0; lanes &= lanes - 1) {
    touch.lane = static_cast<std::uint8_t>(std::countr_zero(lanes));
    if (!holds(touch)) return false;
  }
  return true;
}

}  // namespace ptxloom::exec
