// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "tune/search/feeder.hpp"

// The devices of this process, which share the feeder's candidates. Each has a thread. Whoever asks for
// results also hands out the next candidates, so with one device at work everything happens in sequence: a
// candidate is measured, the search processes the result, the next one is measured.
namespace ptxloom::tune {

/// The candidate that others are timed in alternation with.
struct Rival {
  Settings config;
  Candidate code;
  double time_us = 0;  ///< its time when it became the best: other times are scaled as if it always took that
};

/// A pick to be tried.
using Given = std::pair<Pick, Settings>;

/// The result of a pick.
struct Tried {
  Made made;
  Reading reading = {};                 ///< on the device that made it
  std::size_t device = 0;               ///< index among the measurers
  double rival_us = 0;                  ///< Rival::time_us of the rival it was timed with; 0 = none
  std::optional<Diagnostic> lost = {};  ///< the device was lost: nothing was measured, and the pick is queued
                                        ///< again
};

class Crew {
 public:
  /// `expected`: microseconds that a candidate is expected to take; of those that wait, the one with the
  /// least is measured first. Null: they are measured in their order.
  Crew(std::span<Measurer* const> measurers, Maker make, const Linker* linker, Feeder::Options options,
       std::function<double(const Made&)> expected = {});
  /// Waits for measurements in progress.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  std::size_t size() const { return seats_.size(); }
  Measurer& measurer(std::size_t device) const { return *seats_[device]->measurer; }
  /// A device gets candidates from this call on; initially none does.
  void take_on(std::size_t device) { seats_[device]->at_work = true; }
  void leave_out(std::size_t device) { seats_[device]->at_work = false; }
  bool at_work(std::size_t device) const { return seats_[device]->at_work; }
  std::size_t working() const;

  /// How many picks may be in flight to keep all devices busy.
  std::size_t capacity() const;
  std::size_t under_way() const { return under_way_; }
  void put(const Pick& pick, Settings config);
  /// The picks that still wait for a device, to be tried elsewhere.
  std::vector<Given> give_back();
  /// A finished one; nullopt if there is none at the moment: the feeder's bell rings for the next.
  std::optional<Tried> take();
  /// Applies to measurements that start from now on.
  void set_rival(std::shared_ptr<const Rival> rival);
  /// Hands out nothing more; the device's measurer belongs to the caller from now on.
  Measurer& rest(std::size_t device);

 private:
  struct Seat {
    Measurer* measurer = nullptr;
    bool at_work = false;   // used by the caller's thread only
    std::deque<Made> jobs;  // this and the rest are guarded by the mutex
    bool measuring = false, lost = false;
    std::thread thread;
  };
  void work(std::size_t device);
  void hand_out();
  Made next();
  void retire(const Tried& tried);

  std::vector<std::unique_ptr<Seat>> seats_;
  std::shared_ptr<Bell> bell_;
  std::size_t under_way_ = 0;
  std::deque<Made> made_;  // taken from the feeder, not handed out yet
  std::function<double(const Made&)> expected_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Tried> tried_;
  std::shared_ptr<const Rival> rival_;
  bool closed_ = false;
  Feeder feeder_;
};

}  // namespace ptxloom::tune
