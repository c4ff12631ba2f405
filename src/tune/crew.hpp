// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "tune/feeder.hpp"

// The devices of this process, which share what the feeder has made. Each has a thread of its own; who asks
// for results also hands out the next candidates, so that with one device at work everything happens one
// after the other: a candidate is measured, the search looks at it, the next one is measured.
namespace ptxloom::tune {

/// What candidates are timed in turns with.
struct Rival {
  Settings config;
  Candidate code;
  double time_us = 0;  ///< what it took when it became the best: times are told as if it always took that
};

/// A pick that somebody is to try.
using Given = std::pair<Pick, Settings>;

/// What came of a pick.
struct Tried {
  Made made;
  Reading reading = {};                 ///< where it was made
  std::size_t device = 0;               ///< place among the measurers
  double rival_us = 0;                  ///< Rival::time_us of the one it was timed with; 0 = none
  std::optional<Diagnostic> lost = {};  ///< the device is: nothing was tried, and the pick is under way again
};

class Crew {
 public:
  Crew(std::span<Measurer* const> measurers, Maker make, const Linker* linker, Feeder::Options options);
  /// Waits for what is being measured.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  std::size_t size() const { return seats_.size(); }
  Measurer& measurer(std::size_t device) const { return *seats_[device]->measurer; }
  /// A device gets candidates from when it is taken on; none is at first.
  void take_on(std::size_t device) { seats_[device]->at_work = true; }
  void leave_out(std::size_t device) { seats_[device]->at_work = false; }
  bool at_work(std::size_t device) const { return seats_[device]->at_work; }
  std::size_t working() const;

  /// How many may be under way for all to have enough to do.
  std::size_t capacity() const;
  std::size_t under_way() const { return under_way_; }
  void put(const Pick& pick, Settings config);
  /// What was put in and waits for a device, for somebody else to do.
  std::vector<Given> give_back();
  /// One that is done; nullopt where none is at the moment: the feeder's bell rings for the next.
  std::optional<Tried> take();
  /// For candidates whose measuring begins from now on.
  void set_rival(std::shared_ptr<const Rival> rival);
  /// Hands out nothing more; this device's measurer is the caller's from now on.
  Measurer& rest(std::size_t device);

 private:
  struct Seat {
    Measurer* measurer = nullptr;
    bool at_work = false;   // of the caller's thread
    std::deque<Made> jobs;  // the rest under the mutex
    bool measuring = false, lost = false;
    std::thread thread;
  };
  void work(std::size_t device);
  void hand_out();
  void retire(const Tried& tried);

  std::vector<std::unique_ptr<Seat>> seats_;
  std::shared_ptr<Bell> bell_;
  std::size_t under_way_ = 0;
  std::deque<Made> made_;  // taken from the feeder, and not handed out
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Tried> tried_;
  std::shared_ptr<const Rival> rival_;
  bool closed_ = false;
  Feeder feeder_;
};

}  // namespace ptxloom::tune
