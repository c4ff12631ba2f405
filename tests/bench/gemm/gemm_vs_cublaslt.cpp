// SPDX-License-Identifier: Apache-2.0
// gemm, searched for shortly at each shape of the suite, in turns with cuBLASLt in one run: with its default
// algorithm and with the best of the first 32 that it proposes, workspace 64 MiB; few rows also with a
// streaming read of the same bytes. Random data, graph replays over buffers that rotate through more than L2
// holds, medians of the ratios turn by turn. With a file of records the command can be given again until all
// cases are in it.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <sstream>

#include "bench/bench.hpp"
#include "bench/gemm/gemm_suite.hpp"
#include "bench/gemm/versus_table.hpp"
#include "bench/sampled_reference.hpp"
#include "bench/session_measurer.hpp"
#include "bench/streaming_read.hpp"
#include "ptxloom/tuner.hpp"
#include "tune/model/statistics.hpp"
#include "tune/worker/bench.hpp"

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
    "  --types    of A and B; without it all: bf16 f16 e4m3 s8 tf32 f64\n"
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
    refuse(fmt::format("'{}' is not a number that fits here", text));
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
  if (!options.records.empty() && !std::ofstream(options.records, std::ios::app))
    refuse(fmt::format("'{}' cannot be written", options.records));
  return options;
}

tune::Task make_task(const Settings& problem, std::uint64_t seed) {
  const Template& gemm = gemm_template();
  tune::Task task{.tensors = {}, .expected = {}, .product = gemm.product(problem)};
  for (const TensorPlan& plan : gemm.tensors(problem))
    task.tensors.push_back(plan.role == TensorPlan::Role::out ? HostTensor{plan, {}}
                                                              : random_tensor(plan, seed));
  task.expected = {sampled_reference(problem, task.tensors.at(0), task.tensors.at(1), seed)};
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

/// What of a case needs no device. The host does it for the next few while the device is at one.
struct Prepared {
  Settings problem;
  tune::Task task = {};
  Tunable what = {};
  std::optional<tune::Admissible> space = {};
  std::optional<Error> failed = {};
};

Prepared prepare(const Context& ctx, const Settings& problem, std::uint64_t seed) {
  Prepared made{.problem = problem};
  try {
    made.task = make_task(problem, seed);
    made.what = tunable(ctx, gemm_template(), {.problem = problem});
    made.space = tune::admit(made.what.space, ctx.target());
  } catch (const Error& error) {
    made.failed = error;
  }
  return made;
}

/// Hands out the cases in their order.
class Preparation {
 public:
  Preparation(const Context& ctx, std::vector<Settings> problems, std::uint64_t seed)
      : ctx_(ctx), problems_(std::move(problems)), seed_(seed) {}

  std::size_t left() const { return problems_.size() - begun_ + ahead_.size(); }
  Prepared next() {
    for (; begun_ < problems_.size() && ahead_.size() < kAhead; ++begun_)
      ahead_.push_back(
          std::async(std::launch::async, prepare, std::cref(ctx_), std::cref(problems_[begun_]), seed_));
    Prepared made = ahead_.front().get();
    ahead_.pop_front();
    return made;
  }

 private:
  static constexpr std::size_t kAhead = 4;
  const Context& ctx_;
  std::vector<Settings> problems_;
  std::uint64_t seed_;
  std::size_t begun_ = 0;
  std::deque<std::future<Prepared>> ahead_;
};

/// How far two problems are apart: their sizes by factors, and another type is as a factor of two.
double distance(const Settings& one, const nlohmann::json& other) {
  double sum = other.at("a") == one.at("a") ? 0 : 1;
  for (const char* size : {"m", "n", "k"})
    sum += std::abs(std::log2(std::stod(one.at(size)) / std::stod(other.at(size).get<std::string>())));
  return sum;
}

/// What a search tries first: the template's own choice and what it holds promising, and what was best for
/// the nearest problems.
std::vector<Settings> first_configs(const Prepared& one, const std::vector<nlohmann::json>& lines) {
  constexpr std::size_t kNearest = 4;
  std::multimap<double, Settings> near;
  for (const nlohmann::json& line : lines)
    if (line.contains("config"))
      near.emplace(distance(one.problem, line.at("problem")), line.at("config").get<Settings>());
  std::vector<Settings> configs = {one.what.standard};
  const auto add = [&](const Settings& config) {
    if (std::ranges::find(configs, config) == configs.end()) configs.push_back(config);
  };
  std::ranges::for_each(one.what.promising, add);
  const std::size_t own = configs.size();
  for (const auto& [apart, config] : near) {
    if (configs.size() == own + kNearest) break;
    add(config);
  }
  return configs;
}

tune::SearchResult find_config(const Context& ctx, const Prepared& one, tune::Bench& bench,
                               const Options& options, std::vector<Settings> first) {
  SessionMeasurer measurer(bench, one.task);
  tune::SearchResult found = tune::search(*one.space, ctx.target(), one.what.make, &ctx.linker(), measurer,
                                          {.budget = {.seconds = options.budget},
                                           .seed = options.seed,
                                           .first = std::move(first),
                                           .device = ctx.device()});
  if (found.fault) throw Error(ErrorKind::refused, {*found.fault});
  if (found.best() == nullptr) {
    const std::string why =
        found.candidates.empty() ? "there was no time" : to_string(found.candidates.front().problem.value());
    throw Error(ErrorKind::refused, "no-correct-candidate",
                fmt::format("none of {} candidates was correct; the first: {}", found.evaluations, why));
  }
  return found;
}

void measure(const Context& ctx, const Prepared& one, const Options& options, std::vector<Settings> first,
             nlohmann::json& line) {
  if (one.failed) throw Error(*one.failed);
  const auto bench = tune::make_gpu_bench(ctx.device_context(), one.task);
  const tune::SearchResult found = find_config(ctx, one, *bench, options, std::move(first));
  line["config"] = found.best()->config;
  line["evaluations"] = found.evaluations;
  std::vector<Runner> runners;
  runners.push_back({.name = "ours", .loaded = bench->load(found.kernel)});
  add_vendor(*bench, runners, line);
  if (std::stoul(one.problem.at("m")) <= kFewRows)
    for (const StreamForm& form : kStreams)
      runners.push_back(
          {.name = "streaming", .loaded = bench->load(streaming_candidate(ctx, one.task, form))});
  time_in_turns(*bench, runners);
  tell_ratios(runners, line);
}

/// A case that fails says why in its line.
nlohmann::json line_of(const Context& ctx, const Prepared& one, const Options& options,
                       std::vector<Settings> first) {
  nlohmann::json line = {{"problem", one.problem},
                         {"device", ctx.device().name},
                         {"library", library_version()},
                         {"linker", to_string(ctx.linker().version())}};
  const double ms = milliseconds_of([&] {
    try {
      measure(ctx, one, options, std::move(first), line);
    } catch (const Error& error) {
      line["failure"] = error.diagnostics().front().message;
    }
  });
  line["seconds"] = ms / 1000;
  return line;
}

/// Those that the lines do not have.
std::vector<Settings> problems_of(const Options& options, const std::vector<nlohmann::json>& lines) {
  std::vector<Settings> problems;
  for (const SuiteType& type : options.types)
    for (const Shape& shape : options.shapes) {
      const Settings problem = gemm_template().problem(suite_problem(shape, type));
      const auto same = [&](const nlohmann::json& line) {
        return line.at("problem").get<Settings>() == problem;
      };
      if (std::ranges::none_of(lines, same)) problems.push_back(problem);
    }
  return problems;
}

void run(const Options& options) {
  std::vector<nlohmann::json> lines;
  if (!options.records.empty()) lines = read_lines(options.records);
  const Context ctx({.device = "gpu"});
  Preparation cases(ctx, problems_of(options, lines), options.seed);
  const auto begin = std::chrono::steady_clock::now();
  while (cases.left() > 0 &&
         std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < options.seconds) {
    const Prepared one = cases.next();
    lines.push_back(line_of(ctx, one, options, first_configs(one, lines)));
    const nlohmann::json& line = lines.back();
    if (!options.records.empty()) std::ofstream(options.records, std::ios::app) << line.dump() << '\n';
    fmt::print(stderr, "{:.1f} s {} {}", line.at("seconds").get<double>(), one.problem.at("a"), row_of(line));
    ctx.synchronize();  // of a device that a kernel has brought down it is said here, with its line kept
  }
  if (options.records.empty()) print_table(lines);
  fmt::print(stderr, "{} cases, {} left\n", lines.size(), cases.left());
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
  return error.kind() == ErrorKind::missing ? 0
                                            : static_cast<int>(error.kind());  // ./dev bench runs everywhere
}
