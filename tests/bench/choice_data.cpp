// SPDX-License-Identifier: Apache-2.0
// Times many configurations of random GEMM problems: what the constants of the cost model are fitted to.
//   choice_data TYPES COUNT SEED SECONDS
//     TYPES: "bf16,e4m3,s8". Draws COUNT problems and stops after SECONDS. Needs a GPU. Prints one JSON
//     object a line: the problem, a configuration, and its time in microseconds.
// Of each problem the first configurations of each strategy, with and without swap and stream_k, are timed,
// and some at random among those that follow. Random data, graph replays over rotating buffers.
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "bench.hpp"
#include "ptxloom/runner.hpp"
#include "random_shapes.hpp"
#include "support/temporary_folder.hpp"
#include "tune/bench.hpp"
#include "versus_table.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

constexpr std::size_t kFirst = 10, kOthers = 8, kAmong = 200;
constexpr double kHopeless = 6;  // times as long as the fastest at first sight

void add_family(const Context& ctx, const Settings& problem, const Settings& family, std::mt19937_64& random,
                std::set<Settings>& configs) {
  std::vector<Settings> list;
  try {
    list = gemm_template().candidates(ctx.specs(), ctx.target(), problem, family);
  } catch (const Error&) {
    return;  // the problem does not admit it
  }
  const std::size_t first = std::min(kFirst, list.size());
  configs.insert(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(first));
  const std::size_t end = std::min(kAmong, list.size());
  if (end > first)
    for (std::size_t i = 0; i < kOthers; ++i)
      configs.insert(list[std::uniform_int_distribution<std::size_t>(first, end - 1)(random)]);
}

std::vector<Settings> configs_of(const Context& ctx, const Settings& problem, std::mt19937_64& random) {
  std::set<Settings> configs;
  for (const char* stream_k : {"no", "yes"}) {
    add_family(ctx, problem, {{"strategy", "mma"}, {"stream_k", stream_k}}, random, configs);
    for (const char* swap : {"no", "yes"})
      add_family(ctx, problem, {{"strategy", "wgmma"}, {"stream_k", stream_k}, {"swap", swap}}, random,
                 configs);
  }
  return {configs.begin(), configs.end()};
}

std::vector<std::optional<Specialised>> make_all(const Context& ctx, const Settings& problem,
                                                 const std::vector<Settings>& configs) {
  std::vector<std::optional<Specialised>> made(configs.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < configs.size();) try {
        made[i] = specialise(ctx, gemm_template(), problem, configs[i]);
      } catch (const Error& error) {
        fmt::print(stderr, "{}\n", error.what());
      }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  threads.clear();
  return made;
}

nlohmann::json as_json(const tune::Demand& d, const LaunchPlan& launch) {
  return {{"threads", d.threads},
          {"registers", d.registers},
          {"shared_bytes", d.shared_bytes},
          {"blocks", d.blocks},
          {"operations", d.operations},
          {"dram_bytes", d.dram_bytes},
          {"l2_bytes", d.l2_bytes},
          {"shared_traffic", d.shared_traffic},
          {"steps", d.steps},
          {"in_flight", d.in_flight},
          {"grid", launch.grid},
          {"blocks_per_sm", launch.blocks_per_sm},
          {"workspace_bytes", launch.workspace_bytes}};
}

void measure(const Context& ctx, const Settings& given, std::mt19937_64& random) {
  const Settings problem = gemm_template().problem(given);
  const auto made = make_all(ctx, problem, configs_of(ctx, problem, random));
  const tune::Space space = gemm_template().tuning_space(ctx.specs(), ctx.target(), problem);
  const tune::Task task{.tensors = make_tensors(gemm_template(), problem, {}, 1), .expected = {}};
  const auto bench = tune::make_gpu_bench(ctx.device_context(), task);
  double best = 1e30;
  for (const auto& one : made) {
    if (!one) continue;
    const auto cubin = one->kernel.cubin();
    try {
      const auto loaded =
          bench->load({.ptx = {}, .cubin = {cubin.begin(), cubin.end()}, .launches = {one->launch}});
      bench->run(*loaded);
      const double glance = bench->glance_us(*loaded);
      best = std::min(best, glance);
      const bool timed = glance < kHopeless * best;
      fmt::print("{}\n", nlohmann::json{{"problem", given},
                                        {"config", one->config},
                                        {"demand", as_json(space.demand(one->config), one->launch)},
                                        {"us", timed ? bench->time_us(*loaded) : glance}}
                             .dump());
    } catch (const Error& error) {
      fmt::print(stderr, "{}\n", error.what());
    }
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) {
    fmt::print("choice_data TYPES COUNT SEED SECONDS\n");
    return 0;
  }
  std::vector<std::string> types;
  std::istringstream words(argv[1]);
  for (std::string type; std::getline(words, type, ',');) types.push_back(type);
  const TemporaryFolder no_records;
  const Context ctx({.device = "gpu", .records_folder = no_records.path()});
  std::mt19937_64 random(std::stoull(argv[3]));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < std::stoi(argv[2]); ++i) {
    const Shape shape = draw_shape(random);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (passed.count() > std::stod(argv[4])) break;
    const std::string& type = types[static_cast<std::size_t>(i) % types.size()];
    measure(ctx,
            suite_problem(shape, {type, type == "s8"     ? "s32"
                                        : type == "tf32" ? "f32"
                                                         : "bf16"}),
            random);
    fmt::print(stderr, "{} {}x{}x{} {:.0f} s\n", type, shape[0], shape[1], shape[2], passed.count());
  }
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.kind() == ErrorKind::missing ? 0 : static_cast<int>(error.kind());  // ./dev bench runs it
}
