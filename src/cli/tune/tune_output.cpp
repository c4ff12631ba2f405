// SPDX-License-Identifier: Apache-2.0
#include "cli/tune/tune_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/common/settings.hpp"
#include "cli/common/table.hpp"
#include "cli/common/tool_words.hpp"
#include "cli/report/page.hpp"
#include "tune/model/model.hpp"

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;

Json diagnostic_json(const std::optional<Diagnostic>& diagnostic) {
  if (!diagnostic) return nullptr;
  return {{"code", diagnostic->code}, {"message", diagnostic->message}};
}

std::string_view state_of(const tune::Measurement& measurement) {
  if (!measurement.problem) return "measured";
  return measurement.problem->code == "wrong-result" ? "wrong" : "failed";
}

/// The resources of a candidate's thread block, and how many an SM holds at once.
Json block_json(const tune::Measurement& one, const TargetInfo& limits) {
  tune::Demand demand = one.demand;
  if (one.resources) demand.registers = one.resources->registers;
  const int per_sm = tune::resident_blocks(demand, limits);
  return {{"threads", demand.threads},
          {"shared_bytes", demand.shared_bytes},
          {"grid", demand.blocks},
          {"per_sm", per_sm},
          {"occupancy", static_cast<double>(per_sm * demand.threads) / limits.threads_per_sm}};
}

Json candidate_json(const tune::Measurement& one, const TargetInfo& limits) {
  Json json = {
      {"config", one.config}, {"state", state_of(one)}, {"at_s", one.at_s}, {"link_ms", one.link_ms}};
  if (one.predicted_us > 0) json["predicted_us"] = one.predicted_us;
  if (one.code_us > 0) json["code_us"] = one.code_us;
  if (one.problem) {
    json["problem"] = diagnostic_json(one.problem);
  } else {
    json["time_us"] = one.time_us;
    json["spread"] = one.spread;
    json["samples"] = one.samples;
  }
  if (one.resources)
    json["resources"] = {{"registers", one.resources->registers},
                         {"shared", one.resources->shared},
                         {"stack", one.resources->stack},
                         {"spill_stores", one.resources->spill_stores},
                         {"spill_loads", one.resources->spill_loads}};
  if (one.demand.threads > 0 && limits.threads_per_sm > 0) json["block"] = block_json(one, limits);
  json["device"] = one.device;
  if (!one.saved.empty()) json["saved"] = one.saved.string();
  return json;
}

template <typename Range, typename Make>
Json array_of(const Range& range, const Make& make) {
  Json all = Json::array();
  for (const auto& one : range) all.push_back(make(one));
  return all;
}

Json space_json(const tune::Admissible& space) {
  return {{"parameters", array_of(space.parameters(),
                                  [](const tune::Parameter& one) {
                                    return Json{{"name", one.name}, {"values", one.values}};
                                  })},
          {"configurations", space.configurations()},
          {"admissible", space.size()},
          {"inadmissible", array_of(space.removed(), [](const auto& one) {
             return Json{{"rule", one.rule}, {"count", one.count}};
           })}};
}

/// Each candidate that was the fastest so far when it was measured.
Json best_json(const tune::SearchResult& search) {
  Json steps = Json::array();
  double best = 0;
  for (std::size_t i = 0; i < search.candidates.size(); ++i) {
    const tune::Measurement& one = search.candidates[i];
    if (one.problem || (best > 0 && one.time_us >= best)) continue;
    best = one.time_us;
    steps.push_back({{"at_s", one.at_s}, {"evaluations", i + 1}, {"candidate", i}, {"time_us", one.time_us}});
  }
  return steps;
}

/// The vendor's library on the same problem, or why it is missing.
Json vendor_json(const tune::VendorTime& vendor) {
  if (vendor.problem) return {{"name", vendor.library}, {"problem", diagnostic_json(vendor.problem)}};
  return {{"name", vendor.library}, {"time_us", vendor.time_us}, {"spread", vendor.spread},
          {"ratio", vendor.ratio},  {"low", vendor.low},         {"high", vendor.high},
          {"rounds", vendor.rounds}};
}

/// What the winner is compared with: the configuration that is used by default, and the vendor's library.
Json baselines_json(const TuneResult& result) {
  Json all = Json::array();
  const auto& candidates = result.search.candidates;
  const auto found = std::ranges::find_if(candidates, [&](const tune::Measurement& one) {
    return !one.problem && one.config == result.standard;
  });
  if (found != candidates.end())
    all.push_back({{"name", "template default"},
                   {"candidate", found - candidates.begin()},
                   {"time_us", found->time_us},
                   {"spread", found->spread}});
  if (result.vendor) all.push_back(vendor_json(*result.vendor));
  return all;
}

Json ranking_json(const tune::Ranking& one) {
  return {{"model", one.model},
          {"candidates", one.candidates},
          {"correlation", one.correlation},
          {"place", one.place}};
}

Json comparison_json(const tune::Comparison& one) {
  constexpr const char* kVerdicts[] = {"faster", "slower", "tie"};
  return {{"candidate", one.candidate},
          {"rival", one.rival},
          {"ratio", one.ratio},
          {"low", one.low},
          {"high", one.high},
          {"rounds", one.rounds},
          {"verdict", kVerdicts[static_cast<std::size_t>(one.verdict)]}};
}

Json health_json(const tune::HealthSample& one) {
  return {{"at_s", one.at_s},
          {"device", one.device},
          {"clock_mhz", one.health.clock_mhz},
          {"memory_clock_mhz", one.health.memory_clock_mhz},
          {"temperature_c", one.health.temperature_c},
          {"power_w", one.health.power_w},
          {"power_capped", one.health.power_capped},
          {"throttled", one.health.throttled}};
}

Json share_json(const tune::Share& one) {
  return {{"name", one.name},
          {"rank", one.rank},
          {"evaluations", one.evaluations},
          {"ratio", one.ratio},
          {"left_out", diagnostic_json(one.left_out)}};
}

Json winner_json(const tune::SearchResult& search) {
  if (!search.winner) return nullptr;
  return {{"candidate", *search.winner},
          {"time_us", search.best()->time_us},
          {"spread", search.best()->spread},
          {"ptx", search.kernel.ptx},
          {"launches", array_of(search.kernel.launches, [](const LaunchPlan& launch) {
             return Json{{"entry", launch.entry},
                         {"grid", launch.grid},
                         {"block", launch.block},
                         {"cluster", launch.cluster},
                         {"shared_bytes", launch.shared_bytes}};
           })}};
}

/// The bytes that must be read and written, each once.
double bytes_of(const TuneOutcome& outcome) {
  double bytes = outcome.kernel_template->input_bytes(outcome.result.problem);
  if (bytes == 0) return 0;
  for (const TensorPlan& tensor : outcome.kernel_template->tensors(outcome.result.problem)) {
    if (tensor.role != TensorPlan::Role::in) bytes += static_cast<double>(tensor.bytes());
  }
  return bytes;
}

Json rates_json(const TuneOutcome& outcome) {
  const Settings& problem = outcome.result.problem;
  return {{"operations", outcome.kernel_template->operations(problem)},
          {"unit", outcome.kernel_template->unit(problem)},
          {"input_bytes", outcome.kernel_template->input_bytes(problem)},
          {"bytes", bytes_of(outcome)},
          {"peak_operations", outcome.peak_operations},
          {"peak_bytes", outcome.peak_bytes},
          {"least_us", outcome.result.least_us}};
}

/// The arguments of a command that repeats the search.
Json command_json(const TuneOutcome& outcome) {
  const TuneOptions& options = outcome.options;
  std::vector<std::string> words = {"ptxloom", "tune", std::string(outcome.kernel_template->name())};
  for (const Settings* settings : {&options.problem, &options.config}) {
    for (const auto& [name, value] : *settings)
      words.insert(words.end(), {"--set", fmt::format("{}={}", name, value)});
  }
  const auto add = [&](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  add("--strategy", std::string(tune::name(options.strategy)));
  add("--budget", options.budget.evaluations > 0 ? fmt::format("{}evals", options.budget.evaluations)
                                                 : fmt::format("{:g}", options.budget.seconds));
  add("--seed", fmt::format("{}", options.seed));
  if (options.devices.size() > 1) add("--device", "all");
  if (options.devices.size() == 1 && options.devices[0] != "gpu") add("--device", options.devices[0]);
  if (options.sample > 0) add("--sample", fmt::format("{}", options.sample));
  add("--limit", fmt::format("{:g}", options.candidate_seconds));
  if (!options.issue_model) words.emplace_back("--no-issue-model");
  return words;
}

std::string vendor_text(const tune::VendorTime& vendor) {
  if (vendor.problem) return "not compared: " + vendor.problem->message;
  return fmt::format("{:.3f} us; the winner is {:.3f} times as fast ({:.3f} to {:.3f})", vendor.time_us,
                     vendor.ratio, vendor.low, vendor.high);
}

std::string_view source_of(const TuneOutcome& outcome) {
  if (!outcome.result.record) return "none";
  return outcome.result.source == TuneResult::Source::record ? "record" : "search";
}

}  // namespace

double rate(const TuneOutcome& outcome, double time_us) {
  return outcome.kernel_template->operations(outcome.result.problem) / time_us * 1e-6;
}

std::optional<Error> failure_of(const TuneOutcome& outcome) {
  const TuneResult& result = outcome.result;
  if (result.unkept) return Error(ErrorKind::usage, {*result.unkept});
  if (result.search.interrupted) return std::nullopt;
  if (result.search.fault) return Error(ErrorKind::refused, {*result.search.fault});
  if (result.record) return std::nullopt;
  return Error(ErrorKind::refused, "no-correct-candidate", "no candidate was correct",
               "the results of the candidates are listed above");
}

std::string to_json(const TuneOutcome& outcome) {
  const TuneResult& result = outcome.result;
  const tune::SearchResult& search = result.search;
  Json json = {
      {"schema", 1},
      {"record", result.record ? Json::parse(ptxloom::to_json(*result.record)) : Json(nullptr)},
      {"source", source_of(outcome)},
      {"device",
       {{"name", outcome.device.name},
        {"sm", outcome.device.sm},
        {"sms", outcome.device.sms},
        {"memory_mhz", outcome.device.memory_mhz}}},
      {"template", outcome.kernel_template->name()},
      {"problem", result.problem},
      {"command", command_json(outcome)},
      {"seed", outcome.options.seed},
      {"strategy", tune::name(outcome.options.strategy)},
      {"budget",
       {{"seconds", outcome.options.budget.seconds}, {"evaluations", outcome.options.budget.evaluations}}},
      {"seconds", search.seconds},
      {"device_busy", search.device_busy},
      {"evaluations", search.evaluations},
      {"devices", array_of(search.devices, share_json)},
      {"interrupted", search.interrupted},
      {"rates", rates_json(outcome)},
      {"space", space_json(result.space)},
      {"candidates",
       array_of(search.candidates, [&](const auto& one) { return candidate_json(one, outcome.limits); })},
      {"best", best_json(search)},
      {"baselines", baselines_json(result)},
      {"rankings", array_of(search.rankings, ranking_json)},
      {"final", array_of(search.final, comparison_json)},
      {"health", array_of(search.health, health_json)},
      {"restarts", array_of(search.restarts,
                            [](const tune::Restart& one) {
                              return Json{{"at_s", one.at_s}, {"candidate", one.candidate}, {"why", one.why}};
                            })},
      {"winner", winner_json(search)},
      {"unkept", diagnostic_json(result.unkept)}};
  if (const auto failure = failure_of(outcome)) {
    const Diagnostic& why = failure->diagnostics().front();
    json["error"] = {{"code", why.code}, {"message", why.message}, {"hint", in_tool_words(why.hint)}};
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_table(const TuneOutcome& outcome) {
  if (!outcome.result.record) return {};
  const Record& record = *outcome.result.record;
  std::vector<std::vector<std::string>> rows = {
      {"device", fmt::format("{}, {}", record.device.name, record.device.sm)},
      {"problem", to_words(outcome.result.problem)},
      {"configuration", to_words(record.config)},
      {"time", fmt::format("{:.3f} us, spread {:.1f} %", record.time_us, 100 * record.spread)},
      {"rate", fmt::format("{:.2f} T operations/s", rate(outcome, record.time_us))},
      {"evaluations", fmt::format("{}", record.evaluations)}};
  if (outcome.result.vendor)
    rows.push_back({outcome.result.vendor->library, vendor_text(*outcome.result.vendor)});
  for (const tune::Ranking& one : outcome.result.search.rankings)
    rows.push_back({one.model, fmt::format("ordered {} candidates with a rank correlation of {:.2f}; the "
                                           "fastest was number {} in its order",
                                           one.candidates, one.correlation, one.place)});
  return format_table(rows);
}

std::string to_html(const std::vector<TuneOutcome>& outcomes) {
  std::vector<std::string> results;
  for (const TuneOutcome& outcome : outcomes) results.push_back(to_json(outcome));
  return report_page(results);
}

}  // namespace ptxloom::cli
