// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/file.hpp"
#include "cli/command.hpp"
#include "cli/common/failure.hpp"
#include "cli/common/interrupt.hpp"
#include "cli/common/number.hpp"
#include "cli/common/say.hpp"
#include "cli/common/settings.hpp"
#include "cli/common/tool_words.hpp"
#include "cli/tune/tune_devices.hpp"
#include "cli/tune/tune_output.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/tuner.hpp"
#include "tune/model/model.hpp"

namespace ptxloom::cli {
namespace {

constexpr double kLeastSeconds = 0.001;  // of --limit

struct TuneFlags {
  std::string kernel_template;
  std::vector<std::string> sets;
  std::string budget = "20";
  unsigned jobs = 0;
  std::string device = "gpu";
  std::uint64_t seed = fresh_seed();
  std::string strategy = "guided";
  std::size_t sample = 0;
  double limit = 10;
  bool must_hit = false;
  bool no_issue_model = false;
  bool prebuild = false;
  std::string target;
  std::vector<std::filesystem::path> merge;
  std::filesystem::path report;
  bool json = false;
};

void print_progress(const tune::Progress& progress) {
  const tune::Measurement& latest = progress.latest;
  const std::string outcome =
      latest.problem ? latest.problem->code : fmt::format("{:.2f} us", latest.time_us);
  const std::string best =
      progress.best == nullptr ? "none" : fmt::format("{:.2f} us", progress.best->time_us);
  say("{:4}  {:>12}  best {:>12}  {}\n", progress.evaluations, outcome, best, to_words(latest.config));
}

/// Printed once: output errors are reported at the end, including in the exit code, after everything has been
/// saved.
void print_outcome(const TuneOutcome& outcome, const TuneFlags& options) {
  const std::string text = options.json ? to_json(outcome) : to_table(outcome);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

TuneOptions tune_options(const Task& task, const TuneFlags& options) {
  return {.problem = task.settings.problem,
          .config = task.settings.config,
          .budget = parse_budget(options.budget),
          .strategy = tune::parse_strategy(options.strategy),
          .seed = options.seed,
          .jobs = options.jobs,
          .candidate_seconds = options.limit,
          .sample = options.sample,
          .must_hit = options.must_hit,
          .issue_model = !options.no_issue_model,
          .vendor = true};
}

void print_summary(const TuneResult& result, const TuneFlags& options) {
  const tune::SearchResult& search = result.search;
  if (result.source == TuneResult::Source::record) {
    if (!options.must_hit)
      say("another process has tuned this problem in the meantime: its record is used\n");
    return;
  }
  say("{} of {} configurations are admissible; {} were tried in {:.1f} s, with the device {:.0f} % busy\n",
      result.space.size(), result.space.configurations(), search.evaluations, search.seconds,
      100 * search.device_busy);
  for (const tune::Share& one : search.devices) {
    if (one.left_out) {
      Diagnostic why = *one.left_out;
      why.hint = in_tool_words(std::move(why.hint));
      say("rank {}, {}: left out: {}\n", one.rank, one.name, to_string(why));
    } else if (search.devices.size() > 1) {
      say("rank {}, {}: {} candidates, {:.3f} of the time of the first device\n", one.rank, one.name,
          one.evaluations, one.ratio);
    }
  }
  const auto throttled =
      std::ranges::count_if(search.health, [](const auto& one) { return one.health.throttled; });
  if (throttled > 0) say("the device was throttled in {} of {} samples\n", throttled, search.health.size());
  for (const tune::Measurement& one : search.candidates) {
    if (one.problem && one.problem->code == "wrong-result")
      say("wrong: {}: {}{}\n", to_words(one.config), one.problem->message,
          one.saved.empty() ? "" : "; kept in " + one.saved.string());
  }
}

/// The device's peak rates at its highest clocks.
void fill_peaks(const Context& context, TuneOutcome& outcome) {
  const DeviceInfo& device = context.device();
  if (device.clock_mhz == 0) return;
  const tune::Chip chip = tune::chip_of(context.target(), device);
  outcome.peak_operations =
      chip.rates.operations(outcome.kernel_template->unit(outcome.result.problem)) * chip.sms * chip.clock_hz;
  outcome.peak_bytes = tune::dram_rate(device);
}

/// `devices`: the context's device and those that share its search.
TuneOutcome tune_on(const Context& context, const Task& task, const TuneFlags& options,
                    const std::vector<std::string>& devices, tune::Ranks* ranks = nullptr) {
  TuneOutcome outcome{.kernel_template = task.kernel_template,
                      .device = device_key(context),
                      .limits = context.target().info(),
                      .options = tune_options(task, options)};
  outcome.options.stop = &catch_interrupt();
  outcome.options.progress = print_progress;
  outcome.options.devices = devices;
  outcome.options.ranks = ranks;
  outcome.result = tune_template(context, *task.kernel_template, outcome.options);
  fill_peaks(context, outcome);
  if (ranks == nullptr || ranks->rank() == 0) print_summary(outcome.result, options);
  return outcome;
}

/// The first nonzero exit code. The outcome's JSON also says what went wrong.
int code_of(const std::vector<TuneOutcome>& outcomes, bool tells = true) {
  for (const TuneOutcome& outcome : outcomes) {
    if (const auto failure = failure_of(outcome)) {
      if (tells) report_failure(failure->kind(), failure->diagnostics(), {});
      return exit_code(failure->kind());
    }
    if (outcome.result.search.interrupted) return kInterrupted;
  }
  return 0;
}

/// The record is the purpose of a search, so it must be writable.
void check_records(const Context& context, const TuneFlags& options) {
  if (!options.must_hit) context.records().check_writable(device_key(context));
}

/// Prints the latest outcome and writes the report of all. Returns 0, or the exit code if the report can no
/// longer be written: the results have been printed by then.
int tell(const std::vector<TuneOutcome>& outcomes, const TuneFlags& options) {
  print_outcome(outcomes.back(), options);
  if (options.report.empty()) return 0;
  try {
    write_file(options.report, to_html(outcomes));
    return 0;
  } catch (const Error& error) {
    return report_failure(error.kind(), error.diagnostics(), {});
  }
}

int search_devices(const Tool& tool, const Task& task, const TuneFlags& options) {
  if (!options.report.empty()) check_writable(options.report);
  std::vector<TuneOutcome> outcomes;
  int told = 0;
  for (const std::vector<std::string>& kind : kinds_of_devices(options.device)) {
    const Context context({.device = kind.front(), .specs = tool.spec_folders, .log = tool.log()});
    check_records(context, options);
    outcomes.push_back(tune_on(context, task, options, kind));
    told = tell(outcomes, options);
    if (outcomes.back().result.search.interrupted || outcomes.back().result.unkept) break;
  }
  const int code = code_of(outcomes);
  return code == 0 ? told : code;
}

/// Rank 0 alone prints its progress.
int search_with_ranks(const Tool& tool, const Task& task, TuneFlags options, tune::Ranks& ranks) {
  const bool tells = ranks.rank() == 0;
  std::vector<std::string> devices;
  std::optional<Context> context;
  try {
    if (tells && !options.report.empty()) check_writable(options.report);
    devices = devices_of_rank(options.device, ranks);
    context.emplace(ContextOptions{.device = devices.front(), .specs = tool.spec_folders, .log = tool.log()});
    if (ranks.local_rank() == 0) check_records(*context, options);
  } catch (const Error& error) {
    // Otherwise the others would wait for this one.
    say("rank {}: {}\n", ranks.rank(), error.what());
    ranks.abort(exit_code(error.kind()));
  }
  options.seed = std::stoull(tune::of_rank_0(ranks, std::to_string(options.seed)));
  try {
    const std::vector<TuneOutcome> outcomes = {tune_on(*context, task, options, devices, &ranks)};
    const int told = tells ? tell(outcomes, options) : 0;
    const int code = code_of(outcomes, tells);
    return code == 0 ? told : code;
  } catch (const Error& error) {
    if (tells) throw;
    return exit_code(error.kind());
  }
}

/// Links the kernels of the records for a target's devices, with or without a GPU.
int fill_cache(const Tool& tool, const TuneFlags& options) {
  const Task task = parse_task(options.kernel_template, options.sets);
  const auto specs = tool.specs();
  const Target target = specs->target(options.target);
  const Records records = Records::from_environment(tool_log());
  std::vector<Record> wanted = records.all();
  std::erase_if(wanted, [&](const Record& record) {
    const auto differs = [&](const auto& word) {
      const auto kept = record.problem.find(word.first);
      return kept == record.problem.end() || kept->second != word.second;
    };
    return record.kernel_template != task.kernel_template->name() || record.device.sm != target.name() ||
           record.library != library_version() || std::ranges::any_of(task.settings.problem, differs);
  });
  if (wanted.empty())
    throw Error(ErrorKind::refused, "no-record",
                fmt::format("there is no record of {} for an {} device in {}", options.kernel_template,
                            target.name(), records.folder().string()),
                "tune on such a device, or merge its records with --merge FILE");
  const Linker linker(Libraries(), Cache::from_environment(tool_log()));
  if (!linker.cache().enabled())
    throw Error(ErrorKind::usage, "cache-off", "the cache is off, so there is no cache to fill",
                "set PTXLOOM_CACHE_DIR to a folder");
  if (auto problem = linker.cache().problem()) {
    problem->severity = Severity::error;
    throw Error(ErrorKind::usage, {*problem});
  }
  bool failed = false;
  for (const Prebuilt& one : prebuild(specs, *task.kernel_template, target, linker, wanted)) {
    failed = failed || one.problem.has_value();
    const std::string outcome = one.problem ? to_string(*one.problem) : one.cached ? "was there" : "linked";
    fmt::print("{}: {}\n", to_words(one.record.problem), outcome);
  }
  return failed ? 1 : 0;
}

void merge(const TuneFlags& options) {
  const Records records = Records::from_environment(tool_log());
  for (const std::filesystem::path& file : options.merge) {
    say("{}: {} records\n", file.string(), records.merge(file));
  }
}

int run_tune(const Tool& tool, const TuneFlags& options) {
  if (!options.merge.empty()) {
    merge(options);
    if (options.kernel_template.empty()) return 0;
  }
  if (options.kernel_template.empty())
    throw Error(ErrorKind::usage, "bad-usage", "the template is missing",
                "give one: ptxloom tune gemm --set m=...");
  if (options.prebuild != !options.target.empty())
    throw Error(ErrorKind::usage, "bad-usage", "--prebuild needs --target, and --target needs --prebuild",
                "give both: ptxloom tune gemm --prebuild --target sm_90a");
  if (options.prebuild) return fill_cache(tool, options);
  const Task task = parse_task(options.kernel_template, options.sets);
  task.kernel_template->problem(task.settings.problem);
  tune_options(task, options);
  if (!options.must_hit) {
    if (const auto ranks = tune::mpi_ranks()) return search_with_ranks(tool, task, options, *ranks);
  }
  return search_devices(tool, task, options);
}

}  // namespace

void add_tune(Tool& tool) {
  tool.command<TuneFlags>(
      "tune", "find the fastest correct configuration on this GPU, and record it",
      [](CLI::App& command, TuneFlags& options) {
        command.add_option("template", options.kernel_template, "a template, such as gemm");
        command
            .add_option("--set", options.sets,
                        "set a parameter of the problem, or restrict one of the configuration to a value or "
                        "to several, v1|v2")
            ->allow_extra_args(false)
            ->type_name("NAME=VALUE");
        command
            .add_option("--budget", options.budget,
                        "how long to search: seconds (30) or candidates (200evals)")
            ->capture_default_str();
        add_number(command, "--jobs", options.jobs, 1, kMostJobs,
                   "host threads that emit and link; default: one for each core, at most 16");
        command
            .add_option("--device", options.device,
                        "gpu, gpu:N, all (the GPUs of each kind share a search) or cpu (the executor)")
            ->capture_default_str();
        add_number(command, "--seed", options.seed, 0, UINT64_MAX,
                   "seed of the data and the search; default: a fresh one");
        command
            .add_option("--strategy", options.strategy,
                        "order of the search: exhaustive, random, halving or guided")
            ->capture_default_str();
        add_number(command, "--sample", options.sample, 1, SIZE_MAX,
                   "search only this many configurations, drawn by the seed");
        add_number(command, "--limit", options.limit, kLeastSeconds, kMostSeconds,
                   "end a candidate that takes longer than this on the device")
            ->type_name("SECONDS")
            ->default_str("10");
        command.add_flag("--no-issue-model", options.no_issue_model,
                         "do not predict times from machine code");
        command.add_flag("--must-hit", options.must_hit, "only look up the record; exit 1 if there is none");
        command.add_flag("--prebuild", options.prebuild,
                         "link the kernels of the records for --target into the cache; needs no GPU");
        command.add_option("--target", options.target, "the target of --prebuild")->type_name("T");
        command
            .add_option("--merge", options.merge,
                        "merge the records of these files; without a template do nothing else")
            ->type_name("FILE ...");
        command.add_option("--report", options.report, "write an HTML report of the search")
            ->type_name("FILE.html");
        command.add_flag("--json", options.json, "print JSON (docs/json/tune.json)");
      },
      run_tune);
}

}  // namespace ptxloom::cli
