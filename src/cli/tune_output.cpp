// SPDX-License-Identifier: Apache-2.0
#include "cli/tune_output.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/settings.hpp"
#include "cli/table.hpp"

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;

Json measurement_json(const tune::Measurement& measurement) {
  Json json = {{"config", measurement.config}};
  if (measurement.problem) {
    json["problem"] = {{"code", measurement.problem->code}, {"message", measurement.problem->message}};
  } else {
    json["time_us"] = measurement.time_us;
    json["spread"] = measurement.spread;
    json["registers"] = measurement.resources.registers;
  }
  return json;
}

}  // namespace

double rate(const TuneOutcome& outcome, double time_us) {
  return outcome.kernel_template->operations(outcome.problem) / time_us * 1e-6;
}

std::string to_json(const TuneOutcome& outcome) {
  auto measured = Json::array();
  for (const tune::Measurement& measurement : outcome.search.measured)
    measured.push_back(measurement_json(measurement));
  const Json json = {
      {"schema", 1},
      {"record", outcome.record ? Json::parse(ptxloom::to_json(*outcome.record)) : Json(nullptr)},
      {"evaluations", outcome.search.evaluations},
      {"interrupted", outcome.search.interrupted},
      {"seed", outcome.seed},
      {"measured", std::move(measured)}};
  return json.dump(1) + "\n";
}

std::string to_table(const TuneOutcome& outcome) {
  if (!outcome.record) return {};
  const Record& record = *outcome.record;
  return format_table(
      {{"device", fmt::format("{}, {}", record.device.name, record.device.sm)},
       {"problem", to_words(outcome.problem)},
       {"configuration", to_words(record.config)},
       {"time", fmt::format("{:.3f} us, spread {:.1f} %", record.time_us, 100 * record.spread)},
       {"rate", fmt::format("{:.2f} T operations/s", rate(outcome, record.time_us))},
       {"evaluations", fmt::format("{}", record.evaluations)}});
}

}  // namespace ptxloom::cli
