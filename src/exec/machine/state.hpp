// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "exec/machine/wait.hpp"

// What a family of instructions keeps beside registers and memory, for a warp, a thread block or a cluster:
// its barriers, its copies in flight. The family derives a class T from State, with a constructor that takes
// the owner, and gets at it with owner.state<T>(), which makes it at the first use. The machine knows no such
// class. It tells each what happens, and asks it who waits for what.
namespace ptxloom::exec {

class State {
 public:
  State() = default;
  virtual ~State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// The owner starts anew, with another thread block of the grid. Also called when the state is made.
  virtual void reset() = 0;
  /// Threads have exited: those that waited for nobody else go on.
  virtual void exited() {}
  /// All threads of the cluster have exited: a fault if one of them should have waited for something.
  virtual void finish() {}
  /// Copies in flight that may complete at any time do so if `should_complete` returns true: it is asked for
  /// each.
  virtual void complete_copies(const std::function<bool()>& should_complete) {
    static_cast<void>(should_complete);
  }
  /// Adds who waits here, and for what.
  virtual void report(std::vector<Wait>& waits) const { static_cast<void>(waits); }
};

/// The states of one owner, in the order of their first use.
class States {
 public:
  template <class T, class Owner>
  T& get(Owner& owner) {
    for (const Entry& entry : entries_)
      if (entry.type == &kType<T>) return static_cast<T&>(*entry.state);
    auto made = std::make_unique<T>(owner);
    T& state = *made;
    state.reset();
    entries_.push_back({&kType<T>, std::move(made)});
    return state;
  }

  void reset() {
    for (const Entry& entry : entries_) entry.state->reset();
  }
  void exited() {
    for (const Entry& entry : entries_) entry.state->exited();
  }
  void finish() {
    for (const Entry& entry : entries_) entry.state->finish();
  }
  void complete_copies(const std::function<bool()>& should_complete) {
    for (const Entry& entry : entries_) entry.state->complete_copies(should_complete);
  }
  void report(std::vector<Wait>& waits) const {
    for (const Entry& entry : entries_) entry.state->report(waits);
  }

 private:
  template <class T>
  static constexpr char kType = 0;  // its address stands for the type

  struct Entry {
    const char* type;
    std::unique_ptr<State> state;
  };
  std::vector<Entry> entries_;
};

}  // namespace ptxloom::exec
