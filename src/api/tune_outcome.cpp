// SPDX-License-Identifier: Apache-2.0
#include "api/tune_outcome.hpp"

#include <nlohmann/json.hpp>

#include "tune/worker/wire.hpp"

namespace ptxloom::api {

using Json = nlohmann::json;

std::string to_outcome(const TuneResult& result) {
  const tune::SearchResult& search = result.search;
  Json json = {{"found_before", result.source == TuneResult::Source::record},
               {"evaluations", search.evaluations},
               {"seconds", search.seconds},
               {"interrupted", search.interrupted}};
  if (result.record) json["record"] = to_json(*result.record);
  if (search.fault) json["fault"] = tune::to_json(*search.fault);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_outcome(const Error& error) {
  const Json json = {{"error", tune::to_json(error.diagnostics().front())},
                     {"kind", static_cast<int>(error.kind())}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void read_outcome(const std::string& text, TuneResult& result) {
  const Json json = Json::parse(text);
  if (json.contains("error"))
    throw Error(static_cast<ErrorKind>(json.at("kind").get<int>()), {tune::read_diagnostic(json["error"])});
  result.source = json.at("found_before") ? TuneResult::Source::record : TuneResult::Source::search;
  result.search.evaluations = json.at("evaluations");
  result.search.seconds = json.at("seconds");
  result.search.interrupted = json.at("interrupted");
  if (json.contains("record")) result.record = record_from_json(json["record"].get<std::string>());
  if (json.contains("fault")) result.search.fault = tune::read_diagnostic(json["fault"]);
}

}  // namespace ptxloom::api
