// SPDX-License-Identifier: Apache-2.0
#include "sass/lint/hazard_state.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <tuple>

namespace ptxloom::sass {
namespace {

/// Cases that are told apart of one register and instruction; more are united.
constexpr std::size_t kMostCases = 6;

auto origin(const Pending& one) { return std::tuple(one.id, one.step, one.operand); }
auto origin(const Recent& one) { return std::tuple(one.use.id, one.step, one.use.operand, one.use.index); }
auto origin(const PathCase&) { return std::tuple(); }

/// Whether the first is at least as strict as the second, apart from the paths on which they hold.
bool demands(const Pending& a, const Pending& b) { return (a.any_of & ~b.any_of) == 0 && a.later <= b.later; }
bool demands(const Recent& a, const Recent& b) { return a.elapsed <= b.elapsed; }
bool demands(const PathCase&, const PathCase&) { return true; }

template <typename T>
bool covers(const T& a, const T& b) {
  return b.when.implies(a.when) && demands(a, b);
}

/// What is left on both paths.
void merge(Pending& to, const Pending& from) {
  to.any_of = static_cast<std::uint8_t>(to.any_of & from.any_of);
  to.later = std::min(to.later, from.later);
}
void merge(Recent& to, const Recent& from) { to.elapsed = std::min(to.elapsed, from.elapsed); }
void merge(PathCase&, const PathCase&) {}

/// "P0 and P1" and "P0 and not P1" are "P0".
std::optional<PredicateFacts> either(const PredicateFacts& a, const PredicateFacts& b) {
  const PredicateFacts both = a.common(b);
  const PredicateFacts only_a = a.without(static_cast<PredicateSet>(both.is_true | both.is_false));
  const PredicateFacts only_b = b.without(static_cast<PredicateSet>(both.is_true | both.is_false));
  if (only_a != only_b.opposite() ||
      std::popcount(static_cast<unsigned>(only_a.is_true | only_a.is_false)) != 1)
    return std::nullopt;
  return both;
}

/// Unites the second case with the first, if the result says no more than both.
template <typename T>
bool unite_two(T& a, const T& b) {
  if (covers(a, b)) return true;
  if (!demands(a, b) || !demands(b, a)) return false;
  const std::optional<PredicateFacts> united = either(a.when, b.when);
  if (united) a.when = *united;
  return united.has_value();
}

/// Unites two cases of a range, if any can be; the range is one shorter then.
template <typename T>
bool unite_any(std::vector<T>& list, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t j = begin; j < end; ++j) {
      if (i == j || !unite_two(list[i], list[j])) continue;
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(j));
      return true;
    }
  }
  return false;
}

/// Unites cases of the same origin; where they end.
template <typename T>
std::size_t unite_cases(std::vector<T>& list, std::size_t begin, std::size_t end) {
  while (unite_any(list, begin, end)) --end;
  for (; end - begin > kMostCases; --end) {
    const T& last = list[end - 1];
    list[begin].when = list[begin].when.common(last.when);
    merge(list[begin], last);
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(end - 1));
  }
  return end;
}

template <typename T>
void tidy_list(std::vector<T>& list) {
  std::ranges::sort(list, [](const T& a, const T& b) {
    return std::tuple(origin(a), a.when) < std::tuple(origin(b), b.when);
  });
  for (std::size_t begin = 0; begin < list.size();) {
    std::size_t end = begin + 1;
    while (end < list.size() && origin(list[end]) == origin(list[begin])) ++end;
    begin = end - begin > 1 ? unite_cases(list, begin, end) : end;
  }
}

template <typename T>
bool unite_lists(std::vector<T>& to, const std::vector<T>& from) {
  const std::size_t known = to.size();
  for (const T& other : from) {
    const auto end = to.begin() + static_cast<std::ptrdiff_t>(known);
    const auto first = std::lower_bound(to.begin(), end, other,
                                        [](const T& a, const T& b) { return origin(a) < origin(b); });
    const bool is_covered = std::any_of(
        first, end, [&](const T& one) { return origin(one) == origin(other) && covers(one, other); });
    if (!is_covered) to.push_back(other);
  }
  if (to.size() == known) return false;
  tidy_list(to);
  return true;
}

template <typename T>
void assume_in(std::vector<T>& list, const PredicateFacts& facts) {
  std::erase_if(list, [&](T& one) {
    const PredicateFacts counted = facts_for(one.reg(), facts);
    if (one.when.contradicts(counted)) return true;
    one.when = one.when.with(counted);
    return false;
  });
}

/// The cases in which an instruction that writes predicates is executed, and in which it is not. Where
/// neither is certain, nothing is known of these predicates after it.
template <typename T>
bool write_in(std::vector<T>& list, const PredicateFacts& guard, PredicateSet written, bool clears) {
  bool split = false;
  const std::size_t count = list.size();
  for (std::size_t i = 0; i < count; ++i) {
    const PredicateFacts executed = facts_for(list[i].reg(), guard);
    const PredicateFacts before = list[i].when;
    if (before.contradicts(executed)) continue;
    PredicateFacts after = before.with(executed).without(written);
    if (clears && executed == guard) after = after.with(facts_for(list[i].reg(), {0, written}));
    if (before.implies(executed)) {
      list[i].when = after;
      continue;
    }
    if (!clears && before.without(written) == before) continue;
    split = true;
    T other = list[i];
    other.when = after;
    list[i].when = before.with(executed.opposite());
    list.push_back(other);
  }
  return split;
}

}  // namespace

PredicateFacts facts_for(RegisterId id, const PredicateFacts& facts) {
  const RegisterFile file = file_of(id);
  const bool of_warp = file == RegisterFile::uniform || file == RegisterFile::uniform_predicate;
  return of_warp ? facts.without(static_cast<PredicateSet>(~kUniformPredicates)) : facts;
}

bool State::unite(const State& other) {
  if (!reached) {
    *this = other;
    return true;
  }
  const bool more_cases = unite_lists(cases, other.cases);
  const bool more_pending = unite_lists(pending, other.pending);
  const bool more_recent = unite_lists(recent, other.recent);
  const auto united = static_cast<std::uint8_t>(set | other.set);
  const bool more_set = united != set, more_unseen = other.since_unseen < since_unseen;
  set = united;
  since_unseen = std::min(since_unseen, other.since_unseen);
  return more_cases || more_pending || more_recent || more_set || more_unseen;
}

void State::assume(const PredicateFacts& facts) {
  assume_in(cases, facts);
  assume_in(pending, facts);
  assume_in(recent, facts);
  reached = !cases.empty();
}

void State::write_predicates(const PredicateFacts& guard, PredicateSet written, bool clears) {
  bool split = write_in(cases, guard, written, clears);
  split |= write_in(pending, guard, written, clears);
  split |= write_in(recent, guard, written, clears);
  if (split) tidy();
}

void State::tidy() {
  tidy_list(cases);
  tidy_list(pending);
  tidy_list(recent);
}

}  // namespace ptxloom::sass
