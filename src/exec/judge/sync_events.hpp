// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "exec/judge/horizon.hpp"

// The last barriers, fences and waits of each warp of a cluster, for reports: what happened between two
// accesses.
namespace ptxloom::exec {

class Warp;

struct SyncEvent {
  const Warp* warp = nullptr;
  std::uint32_t operation = 0;  ///< index into Code::operations
  Time time = 0;                ///< accesses that follow are later
};

class SyncEvents {
 public:
  void start(std::size_t warps) { rings_.assign(warps, {}); }
  void note(Party warp, const SyncEvent& event) {
    std::vector<SyncEvent>& ring = rings_[warp];
    // One that is tried again counts once.
    if (!ring.empty() && ring.back().operation == event.operation) ring.pop_back();
    if (ring.size() == kKept) ring.erase(ring.begin());
    ring.push_back(event);
  }
  /// The last ones of two warps since then, in order. They may be one, or a party that is none.
  std::vector<SyncEvent> since(Time time, Party one, Party other) const {
    std::vector<SyncEvent> events;
    const auto add = [&](Party party) {
      if (party >= rings_.size()) return;
      for (const SyncEvent& event : rings_[party])
        if (event.time >= time) events.push_back(event);
    };
    add(one);
    if (other != one) add(other);
    std::ranges::stable_sort(events, {}, &SyncEvent::time);
    if (events.size() > kKept) events.erase(events.begin(), events.end() - kKept);
    return events;
  }

 private:
  static constexpr std::size_t kKept = 8;
  std::vector<std::vector<SyncEvent>> rings_;  // by party
};

}  // namespace ptxloom::exec
