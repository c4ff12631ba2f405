// SPDX-License-Identifier: Apache-2.0
#include "oracle/judge.hpp"

#include <iterator>

#include "base/hash.hpp"

namespace ptxloom::oracle {
namespace {

bool same(const Verdict& a, const Verdict& b) {
  return a.judged == b.judged && a.accepted == b.accepted && a.reason == b.reason;
}

std::string described(const Verdict& verdict) {
  if (!verdict.judged) return "crashed";
  return verdict.accepted ? "took it" : "refused it";
}

}  // namespace

void Recalled::add(Recalled other) {
  known += other.known;
  asked += other.asked;
  proven += other.proven;
  unproven += other.unproven;
  wrong.insert(wrong.end(), std::make_move_iterator(other.wrong.begin()),
               std::make_move_iterator(other.wrong.end()));
}

std::vector<Verdict> Judge::judge(std::span<const std::string> lines, const Place& place, Depth depth) {
  std::vector<Verdict> verdicts = known(lines, place, depth);
  std::vector<std::size_t> open;
  std::vector<std::string> asked;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (verdicts[i].stored) continue;
    open.push_back(i);
    asked.push_back(lines[i]);
  }
  recalled_.known += lines.size() - open.size();
  recalled_.asked += open.size();
  if (open.size() < lines.size() && is_drawn(lines, place, depth)) prove(lines, verdicts, place, depth);
  std::vector<Verdict> answers = ptxas_.judge(asked, place, depth);
  for (std::size_t i = 0; i < open.size(); ++i) verdicts[open[i]] = std::move(answers[i]);
  if (memory_.learned != nullptr) memory_.learned->add(lines, verdicts, place, depth);
  return verdicts;
}

std::vector<Verdict> Judge::known(std::span<const std::string> lines, const Place& place, Depth depth) const {
  std::vector<Verdict> verdicts(lines.size());
  if (memory_.known == nullptr) return verdicts;
  const auto number = memory_.known->place(name_of(place, depth));
  if (!number) return verdicts;
  const std::uint64_t context = context_of(place.around);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (auto found = memory_.known->find(lines[i], context, *number)) verdicts[i] = *found;
  }
  return verdicts;
}

bool Judge::is_drawn(std::span<const std::string> lines, const Place& place, Depth depth) const {
  const std::string question = std::to_string(memory_.seed) + name_of(place, depth) +
                               std::to_string(context_of(place.around)) + lines.front() + lines.back();
  return hash128(question).low % memory_.proven == 0;
}

/// Lines that it crashed on are no part of it: there is no verdict to prove, and each costs many runs.
/// What is wrong is learned anew.
void Judge::prove(std::span<const std::string> lines, std::span<Verdict> verdicts, const Place& place,
                  Depth depth) {
  std::vector<std::string> judged;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!verdicts[i].stored || !verdicts[i].judged) continue;
    judged.push_back(lines[i]);
    places.push_back(i);
  }
  recalled_.proven += judged.size();
  std::vector<Verdict> now = ask_again(judged, place, depth);
  if (memory_.learned == nullptr) return;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (now[i].judged) verdicts[places[i]] = std::move(now[i]);
}

std::vector<Verdict> Judge::ask_again(std::span<const std::string> lines, const Place& place, Depth depth) {
  const std::vector<Verdict> before = known(lines, place, depth);
  std::vector<Verdict> now = ptxas_.judge(lines, place, depth);
  if (memory_.learned != nullptr && lines.size() == 1)
    memory_.learned->settle(lines.front(), now.front(), place, depth);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!before[i].stored || same(before[i], now[i])) continue;
    // A line that confuses ptxas may make it refuse another: alone it is asked about itself.
    if (lines.size() > 1) now[i] = ptxas_.judge(lines.subspan(i, 1), place, depth).front();
    if (same(before[i], now[i]) || !before[i].judged) continue;
    if (!now[i].judged) {
      ++recalled_.unproven;
      continue;
    }
    recalled_.wrong.push_back("verdicts.bin: ptxas " + described(before[i]) +
                              " when it was learned, and now " + described(now[i]) + ": " + lines[i] +
                              "  @ " + name_of(place, depth) + "  " + now[i].message);
  }
  return now;
}

}  // namespace ptxloom::oracle
