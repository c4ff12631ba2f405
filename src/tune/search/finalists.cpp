// SPDX-License-Identifier: Apache-2.0
#include "tune/search/finalists.hpp"

#include <algorithm>
#include <utility>

#include "tune/model/statistics.hpp"

namespace ptxloom::tune {
namespace {

constexpr std::size_t kMost = 5;
constexpr double kClose = 1.1;     // slower than this multiple of the best is out without a comparison
constexpr double kNarrow = 0.004;  // an interval this wide that holds 1 is a tie
constexpr int kRounds = 12, kMostRounds = 96;

}  // namespace

void Finalists::offer(One one) {
  const auto same = std::ranges::find(kept_, one.candidate, &One::candidate);
  if (same != kept_.end()) kept_.erase(same);
  const auto place = std::ranges::upper_bound(kept_, one.time_us, {}, &One::time_us);
  kept_.insert(place, std::move(one));
  if (kept_.size() > kMost) kept_.pop_back();
}

Comparison Finalists::compare(Measurer& measurer, const One& leader, One& other,
                              const std::function<bool()>& late,
                              const std::function<void(const Reading&)>& seen) {
  Comparison result{.candidate = other.candidate, .rival = leader.candidate};
  std::vector<double> ratios, times;
  while (result.rounds < kMostRounds && !late()) {
    const Reading reading = measurer.measure(
        {.config = other.config, .candidate = other.code, .verify = false, .samples = kRounds});
    seen(reading);
    if (reading.problem || reading.us.size() != reading.rival_us.size() || reading.us.empty()) break;
    for (std::size_t i = 0; i < reading.us.size(); ++i) ratios.push_back(reading.us[i] / reading.rival_us[i]);
    times.insert(times.end(), reading.us.begin(), reading.us.end());
    leader_us_.insert(leader_us_.end(), reading.rival_us.begin(), reading.rival_us.end());
    const Statistics found = statistics(ratios);
    result.rounds = static_cast<int>(ratios.size());
    result.ratio = found.median;
    result.low = found.low;
    result.high = found.high;
    if (found.high < 1) result.verdict = Comparison::Verdict::faster;
    if (found.low > 1) result.verdict = Comparison::Verdict::slower;
    if (found.high < 1 || found.low > 1 || found.high - found.low < kNarrow) break;
    if (reading.us.size() < kRounds) break;  // far behind
  }
  if (!times.empty()) other.time_us = statistics(times).median;
  return result;
}

std::vector<Comparison> Finalists::play(Measurer& measurer, const std::function<bool()>& late,
                                        const std::function<void(const Reading&)>& seen) {
  std::vector<Comparison> comparisons;
  if (kept_.empty()) return comparisons;
  std::size_t leader = 0;
  const auto lead = [&](std::size_t index) {
    leader = index;
    leader_us_.clear();
    const Trial trial{.config = kept_[index].config, .candidate = kept_[index].code};
    measurer.set_rival(&trial);
  };
  lead(0);
  const double limit = kClose * kept_.front().time_us;
  for (std::size_t i = 1; i < kept_.size() && !late(); ++i) {
    if (kept_[i].time_us > limit) break;
    const Comparison comparison = compare(measurer, kept_[leader], kept_[i], late, seen);
    if (comparison.rounds == 0) continue;
    comparisons.push_back(comparison);
    if (!leader_us_.empty()) kept_[leader].time_us = statistics(leader_us_).median;
    if (comparison.verdict == Comparison::Verdict::faster) lead(i);
  }
  std::swap(kept_[0], kept_[leader]);
  return comparisons;
}

}  // namespace ptxloom::tune
