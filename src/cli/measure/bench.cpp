// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/nearest.hpp"
#include "cli/command.hpp"
#include "cli/common/number.hpp"
#include "cli/common/table.hpp"
#include "cli/measure/bench_insn.hpp"
#include "ptxloom/check.hpp"
#include "ptxloom/context.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::cli {
namespace {

struct BenchFlags {
  std::string name;
  int count = 0;
  bool json = false;
  InsnFlags insn;
};

struct Timing {
  std::string step;
  double median_ms = 0;
  double least_ms = 0;
};

/// The times of one step over all rounds.
class Steps {
 public:
  template <typename Work>
  auto time(const std::string& step, Work work) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = work();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    const auto entry = std::ranges::find(times_, step, [](const auto& t) { return t.first; });
    auto& times =
        entry == times_.end() ? times_.emplace_back(step, std::vector<double>()).second : entry->second;
    times.push_back(took.count());
    return result;
  }

  std::vector<Timing> results() {
    std::vector<Timing> results;
    for (auto& [step, times] : times_) {
      std::ranges::sort(times);
      results.push_back({.step = step, .median_ms = times[times.size() / 2], .least_ms = times.front()});
    }
    return results;
  }

 private:
  std::vector<std::pair<std::string, std::vector<double>>> times_;
};

constexpr std::string_view kTarget = "sm_90a";

struct KernelChoice {
  Settings problem, config;
};

/// The gemm configuration whose kernel has the most instructions.
KernelChoice largest(const std::shared_ptr<const Specs>& specs, const Target& target) {
  const Template& gemm = gemm_template();
  const Settings problem = gemm.problem({{"m", "4097"}, {"n", "4099"}, {"k", "4100"}, {"beta", "0.5"}});
  std::pair<std::size_t, Settings> most;
  for (const Settings& config : gemm.candidates(*specs, target, problem, {})) {
    const std::size_t size =
        gemm.emit(specs, target, problem, config).module.functions[0].instructions.size();
    if (size > most.first) most = {size, config};
  }
  return {problem, most.second};
}

std::vector<Timing> spec_to_ptx(const Tool& tool, int count) {
  Steps steps;
  const auto specs = steps.time("read specs", [&] { return tool.specs(); });
  const Target target = specs->target(kTarget);
  const KernelChoice kernel = largest(specs, target);
  for (int i = 0; i < count; ++i) {
    const Emitted emitted = steps.time(
        "build IR", [&] { return gemm_template().emit(specs, target, kernel.problem, kernel.config); });
    steps.time("check", [&] { return check(emitted.module); });
    steps.time("print", [&] { return print(emitted.module); });
  }
  return steps.results();
}

/// A kernel that no cache has seen: a constant of it depends on `salt`.
std::string fresh_ptx(const std::shared_ptr<const Specs>& specs, const Target& target, int salt) {
  const Template& gemm = gemm_template();
  const Settings problem =
      gemm.problem({{"m", "1024"}, {"n", "1024"}, {"k", std::to_string(1024 + 16 * salt)}, {"a", "f16"}});
  const Settings config =
      gemm.config(*specs, target, problem, {{"tile_m", "64"}, {"tile_n", "64"}, {"static", "mnk"}});
  return print(gemm.emit(specs, target, problem, config).module);
}

std::vector<Timing> link(const Tool& tool, int count) {
  Steps steps;
  const auto specs = tool.specs();
  const Target target = specs->target(kTarget);
  const Linker linker{Libraries()};
  const int salt = static_cast<int>(std::chrono::system_clock::now().time_since_epoch().count() % 100000);
  for (int i = 0; i < count; ++i) {
    const std::string ptx = fresh_ptx(specs, target, salt + i);
    const std::string step = i == 0 ? "first link of the process" : "link, 64 x 64 tile";
    steps.time(step, [&] { return linker.link(ptx, {.target = std::string(kTarget)}); });
  }
  return steps.results();
}

std::vector<Timing> cache(const Tool& tool, int count) {
  Steps steps;
  const auto specs = tool.specs();
  const Linker linker(Libraries(), Cache::from_environment(tool_log()));
  const std::string ptx = fresh_ptx(specs, specs->target(kTarget), 0);
  for (int i = 0; i < count; ++i) {
    const LinkResult result = steps.time(i == 0 ? "first" : "hit",
                                         [&] { return linker.link(ptx, {.target = std::string(kTarget)}); });
    if (i > 0 && !result.cached) {
      throw Error(ErrorKind::refused, "no-hit", "the cache did not return what was just stored",
                  "check the folder with ptxloom cache stat");
    }
  }
  return steps.results();
}

struct Benchmark {
  std::string_view name;
  std::string_view does;
  int count;
  std::vector<Timing> (*run)(const Tool&, int);
};

constexpr Benchmark kBenchmarks[] = {
    {"spec_to_ptx", "build, check and print the largest gemm kernel", 200, spec_to_ptx},
    {"link", "link the PTX of a gemm kernel, nothing cached", 12, link},
    {"cache", "the same, from the disk cache", 100, cache}};

int run_bench(const Tool& tool, const BenchFlags& options) {
  if (options.name == "insn") {
    InsnFlags insn = options.insn;
    if (options.json) insn.format = "json";
    return run_bench_insn(tool, insn);
  }
  const auto benchmark = std::ranges::find(kBenchmarks, options.name, &Benchmark::name);
  if (benchmark == std::end(kBenchmarks)) {
    std::vector<std::string> names;
    for (const Benchmark& known : kBenchmarks) names.emplace_back(known.name);
    throw Error(
        ErrorKind::usage, "unknown-benchmark", fmt::format("there is no benchmark '{}'", options.name),
        fmt::format("did you mean '{}'? ptxloom bench --help lists them", nearest(options.name, names)));
  }
  const std::vector<Timing> timings =
      benchmark->run(tool, options.count > 0 ? options.count : benchmark->count);
  if (options.json) {
    auto steps = nlohmann::ordered_json::array();
    for (const Timing& t : timings)
      steps.push_back({{"step", t.step}, {"median_ms", t.median_ms}, {"least_ms", t.least_ms}});
    fmt::print(
        "{}\n",
        nlohmann::ordered_json{{"schema", 1}, {"name", options.name}, {"steps", std::move(steps)}}.dump(1));
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"step", "median ms", "least ms"}};
  for (const Timing& t : timings)
    rows.push_back({t.step, fmt::format("{:.4f}", t.median_ms), fmt::format("{:.4f}", t.least_ms)});
  fmt::print("{}", format_table(rows));
  return 0;
}

}  // namespace

void add_bench(Tool& tool) {
  CLI::App& command = tool.command<BenchFlags>(
      "bench", "run the tool's own benchmarks",
      [](CLI::App& app, BenchFlags& options) {
        app.add_option("name", options.name, "one of those below")->required();
        add_number(app, "--count", options.count, 1, 1'000'000, "rounds");
        app.add_option("selection", options.insn.selection,
                       "insn: a form, a family, an opcode or its beginning");
        app.add_flag("--all", options.insn.all, "insn: every form");
        app.add_flag("--dry-run", options.insn.dry_run,
                     "insn: link the kernels and show what they became; needs no GPU");
        app.add_option("--target", options.insn.target, "insn --dry-run: the target")->type_name("T");
        app.add_option("--device", options.insn.device, "insn: gpu or gpu:N");
        app.add_option("--records", options.insn.records,
                       "insn: file of records; default: insn/DEVICE.jsonl beside the tuning records")
            ->type_name("FILE");
        app.add_option("--from", options.insn.from, "insn: show the records of these files; needs no GPU")
            ->type_name("FILE");
        app.add_option("--against", options.insn.against,
                       "insn: compare the records, figure by figure, with those of these files")
            ->type_name("FILE");
        app.add_flag("--again", options.insn.again, "insn: measure again what is recorded");
        app.add_option("--format", options.insn.format, "insn: text, json (docs/json/insn.json) or html")
            ->check(CLI::IsMember({"text", "json", "html"}));
        app.add_flag("--json", options.json, "print JSON (docs/json/bench.json; insn: docs/json/insn.json)");
      },
      run_bench);
  std::string names = "insn         latency and throughput of the GPU's instructions (docs/insn.md)\n";
  for (const Benchmark& benchmark : kBenchmarks)
    names += fmt::format("{:<12} {}\n", benchmark.name, benchmark.does);
  command.footer(names);
}

}  // namespace ptxloom::cli
