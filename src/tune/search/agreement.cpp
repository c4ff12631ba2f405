// SPDX-License-Identifier: Apache-2.0
// Times from several devices are comparable only if the devices perform alike: each times a common candidate.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <future>

#include "base/reason.hpp"
#include "tune/model/statistics.hpp"
#include "tune/search/helpers.hpp"

namespace ptxloom::tune {

namespace {

Reading time_common(Measurer& measurer, const Rival& common, std::chrono::duration<double> warm_up) {
  constexpr int kSamples = 25;
  try {
    Trial trial{.config = common.config, .candidate = common.code, .samples = kSamples};
    const auto begin = std::chrono::steady_clock::now();
    Reading reading = measurer.measure(trial);
    trial.verify = false;
    bool warm = false;
    while (!reading.problem && !warm) {
      warm = std::chrono::steady_clock::now() - begin >= warm_up;
      reading = measurer.measure(trial);
    }
    if (!reading.problem && reading.us.empty())
      reading.problem = Diagnostic{.code = "no-time", .message = "the measurer returned no time"};
    return reading;
  } catch (const Error& error) {
    return {.problem = error.diagnostics().front()};
  } catch (const std::exception& error) {
    return {.problem = Diagnostic{.code = "device-lost", .message = reason_of(error), .hint = {}}};
  }
}

}  // namespace

std::vector<Reading> time_common(const Crew& crew, const Rival& common, double warm_up) {
  std::vector<std::future<Reading>> timing;
  for (std::size_t i = 0; i < crew.size(); ++i)
    timing.push_back(std::async(std::launch::async, [&, i] {
      return time_common(crew.measurer(i), common, std::chrono::duration<double>(warm_up));
    }));
  std::vector<Reading> readings;
  for (std::future<Reading>& one : timing) readings.push_back(one.get());
  return readings;
}

void judge(Share& share, const Reading& reading, const std::string& first, double first_us, double margin) {
  if (reading.problem) {
    share.left_out = reading.problem;
    return;
  }
  const double us = statistics(reading.us).median;
  share.ratio = us / first_us;
  if (share.name == first) return;  // the same device, time-shared
  if (std::abs(share.ratio - 1) <= margin) return;
  share.left_out = Diagnostic{
      .code = "device-differs",
      .message = fmt::format("{} takes {:.3f} us for a kernel that takes {:.3f} us on {}: {:+.1f} %, where "
                             "at most {:g} % is allowed",
                             share.name, us, first_us, first, 100 * (share.ratio - 1), 100 * margin),
      .hint = "see what else runs on this device, and whether it is throttled"};
}

}  // namespace ptxloom::tune
