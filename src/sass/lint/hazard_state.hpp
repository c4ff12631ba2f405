// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sass/instruction/predicates.hpp"

// What is in flight at one place in the code, on any path of a thread that leads there. Where paths meet,
// the union of what is in flight remains. A scoreboard counts as a sign of completion only if it is one on
// every path. What is known of predicates keeps paths apart that exclude each other: an instruction under @P0
// is in flight only where P0 is true, until P0 is written again.
namespace ptxloom::sass {

/// The most that is counted, of cycles and of instructions.
inline constexpr std::uint8_t kMostCycles = 255;

/// A register that must not be used before one of some scoreboards is waited for.
struct Pending {
  RegisterId id = 0;
  std::uint32_t step = 0;   ///< the instruction
  bool operand = false;     ///< it still reads the register; else it will write it
  PredicateFacts when{};    ///< only where this holds
  std::uint8_t any_of = 0;  ///< scoreboards; 0: none tells it
  /// Instructions that set the same scoreboard after it; 0 if there are several scoreboards.
  std::uint8_t later = 0;
  /// It set none itself: it is done when a later one of its order or queue is.
  bool in_order = false;

  bool operator==(const Pending&) const = default;
  RegisterId reg() const { return id; }
};

/// A result of fixed latency that was written lately.
struct Recent {
  RegisterUse use;
  std::uint32_t step = 0;
  PredicateFacts when{};
  std::uint8_t elapsed = 0;  ///< cycles since that instruction was issued, at least

  bool operator==(const Recent&) const = default;
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
  /// Cycles since code that is not followed, or an instruction that is not known, at least.
  std::uint8_t since_unseen = kMostCycles;

  /// The beginning of code of which nothing is known.
  static State begin() {
    return {.reached = true, .cases = {{}}, .pending = {}, .recent = {}, .since_unseen = 0};
  }
  /// Adds another path's. Whether this changed anything.
  bool unite(const State& other);
  /// Goes on only where these facts hold; `reached` is false if they cannot.
  void assume(const PredicateFacts& facts);
  /// An instruction with this guard writes predicates, which are false then, or anything.
  void write_predicates(const PredicateFacts& guard, PredicateSet written, bool clears);
  /// Drops what meets a condition, where an instruction with this guard is executed.
  template <typename Condition>
  void drop(const PredicateFacts& guard, const Condition& condition);
  /// Adds what is not in the list. Entries of one instruction are added one after the other.
  template <typename T>
  static void add(std::vector<T>& list, const T& one);
  void tidy();
};

/// What of these facts counts for a register: a uniform one is the warp's, so no thread's predicate does.
PredicateFacts facts_for(RegisterId id, const PredicateFacts& facts);
/// Whether an instruction with this guard is executed where this is in flight. It is not certain for what is
/// the warp's under a thread's predicate.
template <typename T>
bool is_executed(const T& one, const PredicateFacts& guard) {
  return facts_for(one.reg(), guard) == guard && one.when.implies(guard);
}

template <typename Condition>
void State::drop(const PredicateFacts& guard, const Condition& condition) {
  const auto drop_from = [&](auto& list) {
    std::erase_if(list, [&](auto& one) {
      if (!condition(one)) return false;
      if (is_executed(one, guard)) return true;
      const bool known = facts_for(one.reg(), guard) == guard;
      if (known && !one.when.contradicts(guard)) one.when = one.when.with(guard.opposite());
      return false;
    });
  };
  drop_from(pending);
  drop_from(recent);
}

template <typename T>
void State::add(std::vector<T>& list, const T& one) {
  for (auto at = list.rbegin(); at != list.rend() && at->step == one.step; ++at)
    if (*at == one) return;
  list.push_back(one);
}

}  // namespace ptxloom::sass
