// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ptxloom/error.hpp"

namespace ptxloom::exec {
namespace {

constexpr std::string_view kCopiesWord = "copies";

// Schedules kept for one pair of operations, and delays of one schedule.
constexpr std::size_t kMostRounds = 64, kMostDelays = 3;

// Reads a schedule from its text, which it consumes.
class ScheduleReader {
 public:
  explicit ScheduleReader(std::string_view text) : whole_(text), rest_(text) {}

  Schedule read() {
    Schedule schedule(number<std::uint64_t>());
    while (!rest_.empty()) {
      expect('/');
      schedule.delays.push_back(delay());
    }
    return schedule;
  }

 private:
  Delay delay() {
    Delay delay;
    delay.cluster = number<std::uint64_t>();
    expect('.');
    delay.warp = number<std::uint32_t>();
    expect('@');
    delay.step = number<std::uint64_t>();
    expect('-');
    if (rest_.starts_with(kCopiesWord)) {
      rest_.remove_prefix(kCopiesWord.size());
      delay.until_cluster = delay.cluster;
      delay.until_warp = Delay::kCopies;
      return delay;
    }
    delay.until_cluster = number<std::uint64_t>();
    expect('.');
    delay.until_warp = number<std::uint32_t>();
    expect('@');
    delay.until_operation = number<std::uint32_t>();
    return delay;
  }

  template <class Number>
  Number number() {
    Number value{};
    const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) refuse();
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
    return value;
  }

  void expect(char wanted) {
    if (!rest_.starts_with(wanted)) refuse();
    rest_.remove_prefix(1);
  }

  [[noreturn]] void refuse() const {
    throw Error(ErrorKind::usage, "bad-option",
                fmt::format("'{}' is not a schedule: it is wrong at position {}", whole_,
                            whole_.size() - rest_.size()),
                "copy what a finding says, such as 7 or 0/0.3@120-0.1@44");
  }

  std::string_view whole_, rest_;
};

}  // namespace

Schedule::Schedule(const Schedule& base, const Delay& delay) : seed(base.seed), delays(base.delays) {
  delays.push_back(delay);
}

std::string to_string(const Schedule& schedule) {
  std::string text = fmt::format("{}", schedule.seed);
  for (const Delay& each : schedule.delays) {
    text += fmt::format("/{}.{}@{}-", each.cluster, each.warp, each.step);
    text += each.until_warp == Delay::kCopies
                ? kCopiesWord
                : fmt::format("{}.{}@{}", each.until_cluster, each.until_warp, each.until_operation);
  }
  return text;
}

Schedule parse_schedule(std::string_view text) { return ScheduleReader(text).read(); }

void Reversals::add(const Schedule& seen, const Delay& delay, std::uint32_t operation) {
  if (seen.delays.size() == kMostDelays) return;
  const std::uint32_t other = delay.until_warp == Delay::kCopies ? Delay::kCopies : delay.until_operation;
  std::size_t& rounds = seen_[std::minmax({operation, other})];
  if (rounds == kMostRounds) return;
  waiting_.push_back({rounds++, seen.delays.size(), Schedule(seen, delay)});
}

std::optional<Schedule> Reversals::next() {
  const auto first = std::ranges::min_element(
      waiting_, {}, [](const Waiting& each) { return std::pair(each.round, each.delays); });
  if (first == waiting_.end()) return std::nullopt;
  Schedule schedule = std::move(first->schedule);
  waiting_.erase(first);
  return schedule;
}

}  // namespace ptxloom::exec
