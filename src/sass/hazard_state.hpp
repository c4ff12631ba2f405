// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sass/predicates.hpp"

// What is in flight at one place in the code, on any path of a thread that leads there. Where paths meet,
// states are united: all that is in flight on one of them is, and only what tells its end on all of them
// does. What is known of predicates keeps paths apart that exclude each other: an instruction under @P0 is
// in flight only where P0 is true, until P0 is written again.
namespace ptxloom::sass {

/// A register that must not be used before one of some scoreboards is waited for.
struct Pending {
  RegisterId id = 0;
  std::uint32_t step = 0;   ///< the instruction
  bool operand = false;     ///< it still reads the register; else it will write it
  PredicateFacts when{};    ///< only where this holds
  std::uint8_t any_of = 0;  ///< scoreboards; 0: none tells it
  std::uint8_t later = 0;   ///< instructions that set the same scoreboard after it
  /// It set none itself: it is done when a later one of its order or queue is.
  bool in_order = false;

  RegisterId reg() const { return id; }
};

/// A result of fixed latency that was written lately.
struct Recent {
  RegisterUse use;
  std::uint32_t step = 0;
  PredicateFacts when{};
  std::uint8_t elapsed = 0;  ///< cycles since that instruction was issued, at least

  RegisterId reg() const { return use.id; }
};

/// What is known of predicates on some of the paths.
struct PathCase {
  PredicateFacts when{};

  static RegisterId reg() { return 0; }  // facts of a thread, as those of a general register
};

struct State {
  bool reached = false;
  std::vector<PathCase> cases;  ///< one of these holds
  std::vector<Pending> pending;
  std::vector<Recent> recent;
  std::uint8_t set = 0;  ///< scoreboards that may be set

  /// The beginning of code of which nothing is known.
  static State begin() { return {.reached = true, .cases = {{}}, .pending = {}, .recent = {}}; }
  /// Adds another path's. Whether this changed anything.
  bool unite(const State& other);
  /// Goes on only where these facts hold; `reached` is false if they cannot.
  void assume(const PredicateFacts& facts);
  /// An instruction with this guard writes predicates, which are false then, or anything.
  void write_predicates(const PredicateFacts& guard, PredicateSet written, bool clears);
  /// Drops what meets a condition, where an instruction with this guard is executed.
  template <typename Condition>
  void drop(const PredicateFacts& guard, const Condition& condition);
  void tidy();
};

/// What of these facts counts for a register: a uniform one is the warp's, so no thread's predicate does.
PredicateFacts facts_for(RegisterId id, const PredicateFacts& facts);

template <typename Condition>
void State::drop(const PredicateFacts& guard, const Condition& condition) {
  const auto drop_from = [&](auto& list) {
    std::erase_if(list, [&](auto& one) {
      if (!condition(one)) return false;
      const PredicateFacts executed = facts_for(one.reg(), guard);
      if (one.when.implies(executed)) return true;
      if (!one.when.contradicts(executed)) one.when = one.when.with(executed.opposite());
      return false;
    });
  };
  drop_from(pending);
  drop_from(recent);
}

}  // namespace ptxloom::sass
