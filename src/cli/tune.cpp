// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/settings.hpp"
#include "cli/table.hpp"
#include "ptxloom/runner.hpp"

namespace ptxloom::cli {
namespace {

struct Options {
  std::string kernel_template;
  std::vector<std::string> sets;
  std::string budget = "20";
  unsigned jobs = 0;
  std::string device = "gpu";
  std::uint64_t seed = fresh_seed();
  bool must_hit = false;
  std::vector<std::filesystem::path> merge;
  bool json = false;
};

double rate(const Template& kernel_template, const Settings& problem, double time_us) {
  return kernel_template.operations(problem) / time_us * 1e-6;
}

void print_progress(const tune::Progress& progress) {
  const tune::Measurement& latest = progress.latest;
  const std::string outcome =
      latest.problem ? latest.problem->code : fmt::format("{:.2f} us", latest.time_us);
  const std::string best =
      progress.best == nullptr ? "none" : fmt::format("{:.2f} us", progress.best->time_us);
  fmt::print(stderr, "{:4}  {:>12}  best {:>12}  {}\n", progress.evaluations, outcome, best,
             to_words(latest.config));
}

nlohmann::ordered_json measurement_json(const tune::Measurement& measurement) {
  nlohmann::ordered_json json = {{"config", measurement.config}};
  if (measurement.problem) {
    json["problem"] = {{"code", measurement.problem->code}, {"message", measurement.problem->message}};
  } else {
    json["time_us"] = measurement.time_us;
    json["spread"] = measurement.spread;
    json["registers"] = measurement.resources.registers;
  }
  return json;
}

void print_result(const Template& kernel_template, const Settings& problem,
                  const std::optional<Record>& record, const tune::SearchResult& search,
                  const Options& options) {
  if (options.json) {
    auto measured = nlohmann::ordered_json::array();
    for (const tune::Measurement& measurement : search.measured)
      measured.push_back(measurement_json(measurement));
    const nlohmann::ordered_json json = {{"schema", 1},
                                         {"record", record ? nlohmann::ordered_json::parse(to_json(*record))
                                                           : nlohmann::ordered_json(nullptr)},
                                         {"evaluations", search.evaluations},
                                         {"interrupted", search.interrupted},
                                         {"seed", options.seed},
                                         {"measured", std::move(measured)}};
    fmt::print("{}\n", json.dump(1));
  } else if (record) {
    fmt::print(
        "{}",
        format_table(
            {{"problem", to_words(problem)},
             {"configuration", to_words(record->config)},
             {"time", fmt::format("{:.3f} us, spread {:.1f} %", record->time_us, 100 * record->spread)},
             {"rate", fmt::format("{:.2f} T operations/s", rate(kernel_template, problem, record->time_us))},
             {"evaluations", fmt::format("{}", record->evaluations)}}));
  }
}

int look_up(const Context& context, const Task& task, const Options& options) {
  const Settings problem = task.kernel_template->problem(task.settings.problem);
  const auto record =
      context.records().find(device_key(context.device()), task.kernel_template->name(), problem);
  if (record) {
    print_result(*task.kernel_template, problem, record, {.evaluations = record->evaluations}, options);
    return 0;
  }
  throw Error(ErrorKind::refused, "no-record",
              fmt::format("no record of {} for this device, problem and version in {}",
                          task.kernel_template->name(), context.records().folder().string()),
              "run ptxloom tune without --must-hit");
}

int search(const Context& context, const Task& task, const Options& options) {
  TuneOptions tuning{.problem = task.settings.problem,
                     .config = task.settings.config,
                     .budget = parse_budget(options.budget),
                     .seed = options.seed,
                     .jobs = options.jobs,
                     .stop = &catch_interrupt(),
                     .progress = print_progress};
  const TuneResult result = tune_template(context, *task.kernel_template, tuning);
  print_result(*task.kernel_template, result.problem, result.record, result.search, options);
  if (result.unkept) throw Error(ErrorKind::usage, {*result.unkept});
  if (result.search.interrupted) return kInterrupted;
  if (result.search.fault) throw Error(ErrorKind::refused, {*result.search.fault});
  if (!result.record)
    throw Error(ErrorKind::refused, "no-correct-candidate", "no candidate was correct",
                "see above what became of each");
  return 0;
}

int merge(const Options& options) {
  const Records records = Records::from_environment(tool_log());
  for (const std::filesystem::path& file : options.merge) {
    fmt::print(stderr, "{}: {} records\n", file.string(), records.merge(file));
  }
  return 0;
}

int run(const Tool& tool, const Options& options) {
  if (!options.merge.empty()) return merge(options);
  if (options.kernel_template.empty())
    throw Error(ErrorKind::usage, "bad-usage", "no template is named", "write ptxloom tune gemm --set m=...");
  const Task task = parse_task(options.kernel_template, options.sets);
  task.kernel_template->problem(task.settings.problem);
  parse_budget(options.budget);
  const Context context({.device = options.device, .specs = tool.spec_folders, .log = tool_log()});
  return options.must_hit ? look_up(context, task, options) : search(context, task, options);
}

}  // namespace

void add_tune(Tool& tool) {
  tool.command<Options>(
      "tune", "find the fastest correct configuration on this GPU, and remember it",
      [](CLI::App& command, Options& options) {
        command.add_option("template", options.kernel_template, "such as gemm");
        command
            .add_option("--set", options.sets,
                        "a word of the problem; of the configuration: all candidates have it")
            ->allow_extra_args(false)
            ->type_name("NAME=VALUE");
        command.add_option("--budget", options.budget, "seconds (30) or evaluations (200evals)")
            ->capture_default_str();
        command.add_option("--jobs", options.jobs, "host threads that link; default: one a core")
            ->type_name("N");
        command.add_option("--device", options.device, "gpu or gpu:N")->capture_default_str();
        command.add_option("--seed", options.seed, "of the data; default: a fresh one")->type_name("N");
        command.add_flag("--must-hit", options.must_hit, "only look the record up; exit 1 if there is none");
        command
            .add_option("--merge", options.merge, "take in the records of these files, and do nothing else")
            ->type_name("FILE ...");
        command.add_flag("--json", options.json, "docs/json/tune.json");
      },
      run);
}

}  // namespace ptxloom::cli
