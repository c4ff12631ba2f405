// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ptxloom/runner.hpp"
#include "ptxloom/tuner.hpp"

// The results of `tune` on one kind of device, as JSON, as a table and as a page.
namespace ptxloom::cli {

struct TuneOutcome {
  const Template* kernel_template = nullptr;
  DeviceKey device;
  TargetInfo limits;                           ///< of the device
  double peak_operations = 0, peak_bytes = 0;  ///< per second, at the highest clocks; 0: unknown
  TuneOptions options;
  TuneResult result;
};

/// Operations of the problem in 10^12 per second.
double rate(const TuneOutcome& outcome, double time_us);

/// Why a search that was not interrupted failed; nullopt if it succeeded.
std::optional<Error> failure_of(const TuneOutcome& outcome);
/// docs/json/tune.json
std::string to_json(const TuneOutcome& outcome);
/// The winner, for people; empty if there is none.
std::string to_table(const TuneOutcome& outcome);
/// The same as to_json, as a page.
std::string to_html(const std::vector<TuneOutcome>& outcomes);

}  // namespace ptxloom::cli
