// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

// What happens before what in a cluster, by vector clocks (FastTrack, Flanagan and Freund 2009) of warps.
// Time counts synchronisations. A warp knows of each other one how far what that did lies before what it does
// now; it learns it at places: barriers, mbarriers, words in memory that are accessed atomically. Whoever
// arrives at a place leaves there what it knows, whoever passes takes it along. Asynchronous copies are one
// more party.
//
// It errs on the side of silence. What one lane of a warp has learnt counts for all of them, and what it
// leaves at a place counts for what all of them did before. Threads of one warp are ordered by bar.warp.sync
// and, as here, by any instruction with a member mask.
namespace ptxloom::exec {

class Order {
 public:
  using Time = std::uint32_t;  ///< from 1; 0 is before everything
  using Party = std::uint16_t;

  /// Nobody knows anything, of so many warps.
  void reset(std::size_t warps);
  Time now() const { return now_; }
  /// The asynchronous copies; warps are 0 to this.
  Party copies() const { return static_cast<Party>(known_.size() - 1); }

  /// What the party did up to now lies before what those do who pass after the place is opened.
  void arrive(Party party, const void* place);
  void open(const void* place);
  /// The same, where threads that have ended count as arrived.
  void open_with_exited(const void* place);
  void pass(Party party, const void* place);
  /// Atomic accesses to one word: each lies before the next.
  void touch(Party party, const void* place);
  void forget(const void* place) { places_.erase(place); }
  /// Threads of the warp end.
  void exit(Party party);

  /// The threads of the warp see what each other did.
  void sync_lanes(Party warp);
  Time lanes_synced(Party warp) const { return lanes_synced_[warp]; }
  /// What the warp knows of now may be read by asynchronous copies (fence.proxy.async).
  void fence_proxy(Party warp);

  /// Of what `other` did at `time`.
  bool knows(Party party, Party other, Time time) const { return known_[party][other].seen >= time; }
  bool fenced(Party party, Party other, Time time) const { return known_[party][other].fenced >= time; }

 private:
  struct Knowledge {
    Time seen = 0, fenced = 0;  // the latter: through the proxy of asynchronous copies too
  };
  using Clock = std::vector<Knowledge>;  // by party
  struct Place {
    Clock gathered, opened;
  };

  static void join(Clock& clock, const Clock& other);
  void leave(Party party, Clock& at);
  /// What was until now is before all that follows, until time has run out: then nothing new is found.
  Time tick() { return now_ == ~Time{0} ? now_ : now_++; }

  Time now_ = 1;
  std::vector<Clock> known_;  // by party
  Clock exited_;
  std::vector<Time> lanes_synced_;
  std::unordered_map<const void*, Place> places_;
};

}  // namespace ptxloom::exec
