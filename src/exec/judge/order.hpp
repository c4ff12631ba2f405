// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

// The happens-before relation in a cluster, by vector clocks (FastTrack, Flanagan and Freund 2009) of warps.
// Time counts synchronisations. For every other warp, a warp knows up to which time that warp's actions
// happen before its own; it learns this at places: barriers, mbarriers, words in memory that are accessed
// atomically. Whoever arrives at a place publishes what it knows there; whoever passes takes that knowledge
// along. Asynchronous copies are one more party.
//
// It errs on the side of silence. What one lane of a warp has learnt counts for all its lanes, and what it
// publishes covers what all of them did before. Threads of one warp are ordered by bar.warp.sync and, here,
// by any instruction with a member mask.
namespace ptxloom::exec {

class Order {
 public:
  using Time = std::uint32_t;  ///< from 1; 0 is before everything
  using Party = std::uint16_t;

  /// Starts with this many warps, none of which knows anything.
  void reset(std::size_t warps);
  Time now() const { return now_; }
  /// The party of asynchronous copies; warps have the numbers below.
  Party copies() const { return static_cast<Party>(known_.size() - 1); }

  /// What the party did so far happens before what those do who pass after the place opens.
  void arrive(Party party, const void* place);
  void open(const void* place);
  /// The same, with exited threads counting as arrived.
  void open_with_exited(const void* place);
  void pass(Party party, const void* place);
  /// Atomic accesses to one word: each happens before the next.
  void touch(Party party, const void* place);
  void forget(const void* place) { places_.erase(place); }
  /// Threads of the warp exit.
  void exit(Party party);

  /// The threads of the warp see each other's actions.
  void sync_lanes(Party warp);
  Time lanes_synced(Party warp) const { return lanes_synced_[warp]; }
  /// What the warp knows of now becomes visible to asynchronous copies (fence.proxy.async).
  void fence_proxy(Party warp);

  /// Whether the party knows of what `other` did at `time`.
  bool knows(Party party, Party other, Time time) const { return known_[party][other].seen >= time; }
  bool fenced(Party party, Party other, Time time) const { return known_[party][other].fenced >= time; }

 private:
  struct Knowledge {
    Time seen = 0, fenced = 0;  // fenced: visible to asynchronous copies too
  };
  using Clock = std::vector<Knowledge>;  // by party
  struct Place {
    Clock gathered, opened;
  };

  static void join(Clock& clock, const Clock& other);
  void leave(Party party, Clock& at);
  /// Everything up to now is before what follows. When time runs out, nothing new is found.
  Time tick() { return now_ == ~Time{0} ? now_ : now_++; }

  Time now_ = 1;
  std::vector<Clock> known_;  // by party
  Clock exited_;
  std::vector<Time> lanes_synced_;
  std::unordered_map<const void*, Place> places_;
};

}  // namespace ptxloom::exec
