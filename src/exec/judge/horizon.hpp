// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "exec/machine/lanes.hpp"

namespace ptxloom::exec {

using Time = std::uint32_t;  ///< from 1; 0 is before everything
using Party = std::uint16_t;

/// The time of what an asynchronous copy in flight does: nobody knows of it.
inline constexpr Time kInFlight = ~Time{0};

/// The lane of an access that several lanes make as one, or that an asynchronous copy makes.
inline constexpr std::uint8_t kSeveralLanes = 255;

/// Until when actions of a party are known: those of all its lanes, and for longer those of some.
struct Horizon {
  Time all = 0, some = 0;
  Mask lanes = 0;

  bool covers(Time time, std::uint8_t lane) const {
    if (time <= all) return true;
    return time <= some && (lane == kSeveralLanes || (lanes >> lane & 1) != 0);
  }
  bool covers(const Horizon& other) const {
    return other.all <= all && (other.some <= all || (other.some <= some && (other.lanes & ~lanes) == 0));
  }
  void join(const Horizon& other) {
    if (other.all <= all && other.some == 0) return;
    all = std::max(all, other.all);
    if (std::max(some, other.some) <= all) {
      some = 0;
      lanes = 0;
      return;
    }
    lanes = (some > all ? lanes : 0) | (other.some > all ? other.lanes : 0);
    some = std::max(some, other.some);
  }
  bool operator==(const Horizon&) const = default;
};

}  // namespace ptxloom::exec
