// SPDX-License-Identifier: Apache-2.0
// gemm, searched for shortly at each shape of the suite, in turns with cuBLASLt in one run: with its default
// algorithm and with the best of the first 32 that it proposes, workspace 64 MiB; few rows also with a
// streaming read of the same bytes. Random data, graph replays over buffers that rotate through more than L2
// holds, medians of the ratios turn by turn. With a file of records the command can be given again until all
// cases are in it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>

#include "bench.hpp"
#include "gemm_suite.hpp"
#include "ptxloom/tuner.hpp"
#include "sampled_reference.hpp"
#include "session_measurer.hpp"
#include "streaming_read.hpp"
#include "tune/bench.hpp"
#include "tune/statistics.hpp"
#include "versus_table.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

constexpr int kTurns = 15;
constexpr std::uint32_t kFewRows = 64;

/// What streams fastest depends on how much there is: the fastest of these counts.
constexpr StreamForm kStreams[] = {{.loads = 4, .blocks_per_sm = 2},
                                   {.loads = 4, .blocks_per_sm = 4},
                                   {.loads = 8, .blocks_per_sm = 2},
                                   {.loads = 8, .blocks_per_sm = 4}};

constexpr const char* kUsage =
    "gemm_vs_cublaslt [--types bf16,f16,...] [--shapes MxNxK,...] [--seconds S] [--budget S] [--seed N]\n"
    "                 [--records FILE]\n"
    "gemm_vs_cublaslt --print FILE\n"
    "  --types    of A and B; without it all: bf16 f16 e4m3 s8 tf32\n"
    "  --shapes   any shapes; without it the suite's\n"
    "  --seconds  no case is begun after so many (120)\n"
    "  --budget   seconds to search for each case (1)\n"
    "  --seed     of data and search (1)\n"
    "  --records  a JSON line for each case is appended to it, and cases that it has are left out;\n"
    "             without it the table is printed at the end\n"
    "  --print    the table of such a file";

struct Options {
  std::vector<SuiteType> types{kSuiteTypes.begin(), kSuiteTypes.end()};
  std::vector<Shape> shapes{kSuite.begin(), kSuite.end()};
  double seconds = 120, budget = 1;
  std::uint64_t seed = 1;
  std::string records, print;
};

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::usage, "bad-usage", why, kUsage); }

std::vector<std::string> split(const std::string& text, char sign) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, sign);) parts.push_back(part);
  return parts;
}

template <typename T>
T number_of(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    refuse(fmt::format("'{}' is no number that fits here", text));
  return value;
}

std::vector<SuiteType> types_of(const std::string& text) {
  std::vector<SuiteType> types;
  for (const std::string& name : split(text, ',')) {
    const auto found = std::ranges::find(kSuiteTypes, name, &SuiteType::ab);
    if (found == kSuiteTypes.end()) refuse(fmt::format("the suite has no type '{}'", name));
    types.push_back(*found);
  }
  return types;
}

std::vector<Shape> shapes_of(const std::string& text) {
  std::vector<Shape> shapes;
  for (const std::string& shape : split(text, ',')) {
    const std::vector<std::string> sizes = split(shape, 'x');
    if (sizes.size() != 3) refuse(fmt::format("'{}' is no MxNxK", shape));
    Shape& one = shapes.emplace_back();
    std::ranges::transform(sizes, one.begin(), number_of<std::uint32_t>);
  }
  return shapes;
}

Options read_options(int argc, char** argv) {
  Options options;
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string& word = words[i];
    if (i + 1 == words.size()) refuse(fmt::format("'{}' is no option with a value", word));
    const std::string& value = words[i + 1];
    if (word == "--types")
      options.types = types_of(value);
    else if (word == "--shapes")
      options.shapes = shapes_of(value);
    else if (word == "--seconds")
      options.seconds = number_of<double>(value);
    else if (word == "--budget")
      options.budget = number_of<double>(value);
    else if (word == "--seed")
      options.seed = number_of<std::uint64_t>(value);
    else if (word == "--records")
      options.records = value;
    else if (word == "--print")
      options.print = value;
    else
      refuse(fmt::format("there is no option '{}'", word));
  }
  if (options.budget <= 0) refuse("a search without a budget would not end");
  if (!options.print.empty() && !std::filesystem::exists(options.print))
    refuse(fmt::format("there is no file '{}'", options.print));
  return options;
}

tune::Task make_task(const Settings& problem, std::uint64_t seed) {
  const Template& gemm = gemm_template();
  tune::Task task{.tensors = {}, .expected = {}, .product = gemm.product(problem)};
  for (const TensorPlan& plan : gemm.tensors(problem))
    task.tensors.push_back(plan.role == TensorPlan::Role::out ? HostTensor{plan, {}}
                                                              : random_tensor(plan, seed));
  task.expected = sampled_reference(problem, task.tensors.at(0), task.tensors.at(1), seed);
  return task;
}

/// One of those that are timed in turns.
struct Runner {
  std::string name;
  std::unique_ptr<tune::Bench::Loaded> loaded;
  std::vector<double> us = {};
};

/// Each begins a turn as often as the others: who works first finds the chip cooler.
void time_in_turns(tune::Bench& bench, std::vector<Runner>& runners) {
  for (int turn = 0; turn < kTurns; ++turn)
    for (std::size_t i = 0; i < runners.size(); ++i) {
      Runner& runner = runners[(i + static_cast<std::size_t>(turn)) % runners.size()];
      runner.us.push_back(bench.time_us(*runner.loaded));
    }
}

/// Of several runners of a name the fastest counts.
void tell_ratios(const std::vector<Runner>& runners, nlohmann::json& line) {
  const std::vector<double>& ours = runners.front().us;
  for (const Runner& runner : runners) {
    const double us = median(runner.us);
    if (&runner == &runners.front()) {
      line["us"] = us;
      continue;
    }
    if (line.contains(runner.name) && line[runner.name]["us"].get<double>() <= us) continue;
    std::vector<double> ratios;
    std::ranges::transform(runner.us, ours, std::back_inserter(ratios), std::divides());
    const tune::Statistics ratio = tune::statistics(ratios);
    line[runner.name] = {{"us", us}, {"ratio", ratio.median}, {"low", ratio.low}, {"high", ratio.high}};
  }
}

void add_vendor(tune::Bench& bench, std::vector<Runner>& runners, nlohmann::json& line) {
  try {
    tune::Bench::Vendor vendor = bench.load_vendor();
    line["cublaslt"] = vendor.name;
    runners.push_back({.name = "default", .loaded = std::move(vendor.standard)});
    runners.push_back({.name = "best", .loaded = std::move(vendor.fastest)});
  } catch (const Error& error) {
    if (!bench.alive(error)) throw;
    line["refused"] = error.diagnostics().front().message;
  }
}

void measure(const Context& ctx, const Settings& problem, const Options& options, nlohmann::json& line) {
  const tune::Task task = make_task(problem, options.seed);
  const auto bench = tune::make_gpu_bench(ctx.device_context(), task);
  SessionMeasurer measurer(*bench, task);
  const TuneResult found = tune_template(ctx, gemm_template(),
                                         {.problem = problem,
                                          .budget = {.seconds = options.budget},
                                          .seed = options.seed,
                                          .measurer = &measurer});
  if (found.search.fault) throw Error(ErrorKind::refused, {*found.search.fault});
  if (!found.record)
    throw Error(ErrorKind::refused, "no-correct-candidate",
                fmt::format("none of {} candidates was correct", found.search.evaluations));
  line["config"] = found.record->config;
  line["evaluations"] = found.search.evaluations;
  std::vector<Runner> runners;
  runners.push_back({.name = "ours", .loaded = bench->load(found.search.kernel)});
  add_vendor(*bench, runners, line);
  if (std::stoul(problem.at("m")) <= kFewRows)
    for (const StreamForm& form : kStreams)
      runners.push_back({.name = "streaming", .loaded = bench->load(streaming_candidate(ctx, task, form))});
  time_in_turns(*bench, runners);
  tell_ratios(runners, line);
}

/// A case that fails is told in its line. Throws what the device does not survive, when that is told.
nlohmann::json line_of(const Context& ctx, const Settings& problem, const Options& options) {
  nlohmann::json line = {{"problem", problem},
                         {"device", ctx.device().name},
                         {"library", library_version()},
                         {"linker", to_string(ctx.linker().version())}};
  const double ms = milliseconds_of([&] {
    try {
      measure(ctx, problem, options, line);
    } catch (const Error& error) {
      line["failure"] = error.diagnostics().front().message;
    }
  });
  line["seconds"] = ms / 1000;
  return line;
}

/// Records of short searches are no others'.
std::filesystem::path records_folder(const Options& options) {
  return options.records.empty() ? std::filesystem::temp_directory_path() / "gemm_vs_cublaslt"
                                 : std::filesystem::path(options.records + ".tuned");
}

std::vector<Settings> problems_of(const Options& options) {
  std::vector<Settings> problems;
  for (const SuiteType& type : options.types)
    for (const Shape& shape : options.shapes)
      problems.push_back(gemm_template().problem(suite_problem(shape, type)));
  return problems;
}

void run(const Options& options) {
  std::vector<nlohmann::json> lines;
  if (!options.records.empty()) lines = read_lines(options.records);
  const Context ctx({.device = "gpu", .records_folder = records_folder(options)});
  const auto begin = std::chrono::steady_clock::now();
  std::size_t left = 0;
  for (const Settings& problem : problems_of(options)) {
    const auto same = [&](const nlohmann::json& line) {
      return line.at("problem") == nlohmann::json(problem);
    };
    if (std::ranges::any_of(lines, same)) continue;
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begin;
    if (gone.count() > options.seconds) {
      ++left;
      continue;
    }
    const nlohmann::json& line = lines.emplace_back(line_of(ctx, problem, options));
    if (!options.records.empty()) std::ofstream(options.records, std::ios::app) << line.dump() << '\n';
    fmt::print(stderr, "{} {} {:.1f} s\n", problem.at("a"), row_of(line).substr(1),
               line.at("seconds").get<double>());
    ctx.synchronize();  // a device that a kernel has brought down is told of here, when its line is kept
  }
  if (options.records.empty()) print_table(lines);
  fmt::print(stderr, "{} cases, {} left\n", lines.size(), left);
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  if (options.print.empty())
    run(options);
  else
    print_table(read_lines(options.print));
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.kind() == ErrorKind::missing ? 0 : static_cast<int>(error.kind());  // ./dev bench runs everywhere
}
