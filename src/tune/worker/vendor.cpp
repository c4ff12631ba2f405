// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ptxloom/tune.hpp"
#include "tune/model/statistics.hpp"

namespace ptxloom::tune {
namespace {

constexpr double kNarrow = 0.004;  // width of the interval, as for the finalists
constexpr int kRounds = 12, kMostRounds = 96;

}  // namespace

Reading Measurer::measure_vendor(int) {
  Reading reading;
  reading.problem = Diagnostic{.code = "no-vendor",
                               .message = "this measurer cannot time a vendor library",
                               .hint = "tune on a GPU, in a worker process"};
  return reading;
}

VendorTime time_vendor(Measurer& measurer, const SearchResult& search) {
  const Measurement& winner = *search.best();
  const Trial rival{.config = winner.config, .candidate = search.kernel};
  measurer.set_rival(&rival);
  VendorTime result;
  std::vector<double> times, ratios;
  while (static_cast<int>(ratios.size()) < kMostRounds) {
    const Reading reading = measurer.measure_vendor(kRounds);
    if (!reading.library.empty()) result.library = reading.library;
    result.problem = reading.problem;
    if (reading.problem || reading.us.empty() || reading.us.size() != reading.rival_us.size()) break;
    times.insert(times.end(), reading.us.begin(), reading.us.end());
    for (std::size_t i = 0; i < reading.us.size(); ++i) ratios.push_back(reading.us[i] / reading.rival_us[i]);
    const Statistics ratio = statistics(ratios);
    result.ratio = ratio.median;
    result.low = ratio.low;
    result.high = ratio.high;
    if (ratio.high - ratio.low < kNarrow * ratio.median) break;
    if (static_cast<int>(reading.us.size()) < kRounds) break;  // far behind
  }
  result.rounds = static_cast<int>(ratios.size());
  if (ratios.empty()) {
    if (!result.problem)
      result.problem = Diagnostic{.code = "no-time", .message = "the measurer returned no time"};
    return result;
  }
  // The measurements so far stand even if a later round failed.
  result.problem.reset();
  result.spread = statistics(times).spread;
  result.time_us = result.ratio * winner.time_us;
  return result;
}

}  // namespace ptxloom::tune
