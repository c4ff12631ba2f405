// SPDX-License-Identifier: Apache-2.0
#include "sass/lint/lint_notes.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

namespace ptxloom::sass {
namespace {

constexpr std::string_view kSlots = "abc";

/// The general register, or the first of several, that is in an operand slot. Instructions that read their
/// operands late, such as loads, do not use the cache.
std::optional<RegisterId> register_in(const HazardStep& step, unsigned slot) {
  if (!step.uses.queue.empty()) return std::nullopt;
  const auto found = std::ranges::find_if(step.uses.reads, [&](const RegisterUse& use) {
    return use.operand == kSlots[slot] && use.index == 0 && file_of(use.id) == RegisterFile::general;
  });
  if (found == step.uses.reads.end()) return std::nullopt;
  return found->id;
}

bool reads(const HazardStep& step, unsigned slot, RegisterId id) {
  return step.uses.queue.empty() && std::ranges::any_of(step.uses.reads, [&](const RegisterUse& use) {
           return use.id == id && use.operand == kSlots[slot];
         });
}

/// Whether the instructions from here on may be others: the operand cache is not followed over branches.
bool leaves_line(const HazardStep& step) {
  return step.uses.flow != Flow::next && step.uses.flow != Flow::region;
}

/// The instruction that ends a kept register: it writes it before any has read it from the slot again.
std::optional<std::size_t> dropped_at(const std::vector<HazardStep>& steps, std::size_t from, unsigned slot,
                                      RegisterId kept) {
  for (std::size_t next = from + 1; next < steps.size(); ++next) {
    if (!steps[next].label.empty() || leaves_line(steps[next - 1])) return std::nullopt;
    if (reads(steps[next], slot, kept)) return std::nullopt;
    if (std::ranges::find(steps[next].uses.writes, kept, &RegisterUse::id) != steps[next].uses.writes.end())
      return next;
  }
  return std::nullopt;
}

/// Stalls that are this much longer are told. Shorter ones may keep a unit from being asked too early, or an
/// order of writes, which are not followed.
constexpr int kLongStall = 8;

/// First steps of runs of instructions that are executed one after the other.
std::vector<std::size_t> lines_of(const std::vector<HazardStep>& steps) {
  std::vector<std::size_t> lines;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (i == 0 || !steps[i].label.empty() || leaves_line(steps[i - 1])) lines.push_back(i);
  return lines;
}

/// By how many cycles each stall count may be shorter, as far as readers of results go.
class Slack {
 public:
  explicit Slack(const std::vector<HazardStep>& steps)
      : lines_(lines_of(steps)), slack_(steps.size(), kNoLimit) {}

  void limit(const Distance& one) {
    const int spare = one.need ? one.have - *one.need : 0;
    const std::size_t end = end_of(one.writing);
    if (one.writing < one.reading && one.reading < end) return limit(one.writing, one.reading, spare);
    limit(one.writing, end, spare);
    limit(begin_of(one.reading), one.reading, spare);
  }
  /// Another instruction may read it behind this step, and need it as late as any reader of any result.
  void limit(const Unseen& one, int longest) {
    const int spare = one.have - longest;
    const std::size_t line = begin_of(one.step), from = one.writing.value_or(line);
    if (from >= line && from <= one.step) return limit(from, one.step + 1, spare);
    limit(from, end_of(from), spare);
    limit(line, one.step + 1, spare);
  }
  int of(std::size_t step) const { return slack_[step]; }
  /// First step of the line of a step, and of the next one.
  std::size_t begin_of(std::size_t step) const { return *std::prev(std::ranges::upper_bound(lines_, step)); }
  std::size_t end_of(std::size_t step) const {
    const auto next = std::ranges::upper_bound(lines_, step);
    return next == lines_.end() ? slack_.size() : *next;
  }

 private:
  static constexpr int kNoLimit = 255;

  void limit(std::size_t begin, std::size_t end, int spare) {
    for (std::size_t i = begin; i < end; ++i) slack_[i] = std::min(slack_[i], spare);
  }

  std::vector<std::size_t> lines_;
  std::vector<int> slack_;
};

/// Its stall count keeps nothing but readers of results away: it is executed, is no branch, barrier or NOP,
/// which ptxas puts where it wants to wait, and has no scoreboard.
bool stalls_for_results(const HazardStep& step) {
  return !is_never(step.text.guard) && step.uses.type != "nop" && step.uses.results == Results::fixed &&
         step.uses.type != "branch" && step.uses.flow == Flow::next && !step.control.write &&
         !step.control.read;
}

}  // namespace

void Readers::add(const Distance& one) {
  // Several paths may lead from the one to the other.
  for (auto at = distances.rbegin(); at != distances.rend() && at->reading == one.reading; ++at)
    if (at->writing == one.writing && at->have == one.have && at->need == one.need) return;
  distances.push_back(one);
}

std::vector<LongStall> long_stalls(const std::vector<HazardStep>& steps, const Readers& readers,
                                   int longest) {
  Slack slack(steps);
  for (const Distance& one : readers.distances) slack.limit(one);
  for (const Unseen& one : readers.unseen) slack.limit(one, longest);
  std::vector<LongStall> found;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const int stall = static_cast<int>(steps[i].control.stall);
    const int less = std::min(slack.of(i), stall - 1);
    if (less < kLongStall || !stalls_for_results(steps[i])) continue;
    // A result may be on its way through all of a short line, to a reader behind it.
    int line = 0;
    for (std::size_t k = slack.begin_of(i); k < slack.end_of(i); ++k)
      line += static_cast<int>(steps[k].control.stall);
    if (line - less > longest) found.push_back({i, stall, stall - less});
  }
  return found;
}

std::vector<IdleReuse> idle_reuse(const std::vector<HazardStep>& steps) {
  std::vector<IdleReuse> idle;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (unsigned slot = 0; slot < kSlots.size(); ++slot) {
      if ((steps[i].control.reuse >> slot & 1U) == 0) continue;
      const std::optional<RegisterId> kept = register_in(steps[i], slot);
      if (!kept) continue;
      const bool own =
          std::ranges::find(steps[i].uses.writes, *kept, &RegisterUse::id) != steps[i].uses.writes.end();
      const std::optional<std::size_t> end = own ? i : dropped_at(steps, i, slot, *kept);
      if (end) idle.push_back({.step = i, .slot = slot, .kept = *kept, .next = *end});
    }
  }
  return idle;
}

}  // namespace ptxloom::sass
