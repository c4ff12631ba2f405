// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ptxloom/runner.hpp"
#include "ptxloom/tuner.hpp"

// What `tune` found on one kind of device, and how it is told: as JSON, as a table, as a page.
namespace ptxloom::cli {

struct TuneOutcome {
  const Template* kernel_template = nullptr;
  DeviceKey device;
  TargetInfo limits;                           ///< of the device
  double peak_operations = 0, peak_bytes = 0;  ///< a second, at the highest clocks; 0: not known
  TuneOptions options;
  TuneResult result;
};

/// Operations of the problem in 10^12 a second.
double rate(const TuneOutcome& outcome, double time_us);

/// Why a search that was not interrupted has not done what it was to; nullopt where it has.
std::optional<Error> failure_of(const TuneOutcome& outcome);
/// docs/json/tune.json
std::string to_json(const TuneOutcome& outcome);
/// The winner, for people; empty where there is none.
std::string to_table(const TuneOutcome& outcome);
/// The same as to_json, as a page.
std::string to_html(const std::vector<TuneOutcome>& outcomes);

}  // namespace ptxloom::cli
