// SPDX-License-Identifier: Apache-2.0
// Data for the cost model, whose constants fit_model.py fits, and for its correction, which fit_correction.py
// learns.
//   choice_data candidates TYPES COUNT SEED
//     TYPES: "bf16,e4m3,s8". Draws COUNT random GEMM problems and prints a line of JSON for each: the
//     problem, the configurations among which the default choice decides on sm_90a, and their demands. Needs
//     no GPU.
//   choice_data candidates TYPES suite
//     The same for the shapes of the suite, each in all types.
//   choice_data time FILE SECONDS
//     FILE: lines {"problem": {...}, "configs": [{...}, ...]}. Prints them with "us": the time of each
//     configuration in microseconds, null if it could not be run. Stops after SECONDS. Needs a GPU. Random
//     data, graph replays over rotating buffers.
//   choice_data features FILE
//     FILE: what `time` has printed. Prints, for each problem, what the correction sees of the configurations
//     that could be run. Needs no GPU.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <optional>
#include <random>
#include <sstream>
#include <thread>

#include "bench.hpp"
#include "gemm/choice/demand.hpp"
#include "gemm/choice/features.hpp"
#include "gemm/config/rules.hpp"
#include "ptxloom/runner.hpp"
#include "random_shapes.hpp"
#include "support/temporary_folder.hpp"
#include "templates/gemm/space.json.hpp"
#include "tune/model/model.hpp"
#include "tune/worker/bench.hpp"
#include "versus_table.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

constexpr double kHopeless = 4;  // times as long as the fastest at first sight: not timed again

nlohmann::json demand_json(const tune::Demand& d, const tune::Chip& chip) {
  return {{"threads", d.threads},
          {"registers", d.registers},
          {"shared_bytes", d.shared_bytes},
          {"resident", tune::resident_blocks(d, chip.limits)},
          {"cluster", d.cluster},
          {"blocks", d.blocks},
          {"persistent", int(d.persistent)},
          {"in_turn", d.in_turn},
          {"rate", chip.rates.operations(d.unit)},
          {"operations", d.operations},
          {"asynchronous", int(d.asynchronous)},
          {"instructions", d.instructions},
          {"dram_bytes", d.dram_bytes},
          {"l2_bytes", d.l2_bytes},
          {"shared_traffic", d.shared_traffic},
          {"steps", d.steps},
          {"in_flight", d.in_flight},
          {"load_instructions", d.load_instructions},
          {"loads", static_cast<int>(d.loads)},
          {"epilogue", d.epilogue},
          {"stored_sectors", d.stored_sectors},
          {"partial_sectors", d.partial_sectors},
          {"summed_bytes", d.summed_bytes},
          {"exchanged_bytes", d.exchanged_bytes},
          {"grid_waits", d.grid_waits},
          {"prologue_bytes", d.prologue_bytes},
          {"predicted_us", tune::predict(d, chip).us}};
}

nlohmann::json names_of(const nlohmann::json& row) {
  nlohmann::json names = nlohmann::json::array();
  for (const auto& [name, value] : row.items()) names.push_back(name);
  return names;
}

nlohmann::json values_of(const nlohmann::json& row) {
  nlohmann::json values = nlohmann::json::array();
  for (const auto& [name, value] : row.items()) values.push_back(value);
  return values;
}

void print_candidates(const Specs& specs, const Target& target, const tune::Chip& chip,
                      const Settings& given) {
  const Settings problem = gemm_template().problem(given);
  const tune::Space space = gemm_template().tuning_space(specs, target, problem);
  nlohmann::json rows = nlohmann::json::array();
  nlohmann::json names;
  for (const Settings& config : gemm_template().candidates(specs, target, problem, {{"raster", "8"}})) {
    nlohmann::json row = demand_json(space.demand(config), chip);
    for (const auto& [name, value] : config) row["config." + name] = value;
    if (names.is_null()) names = names_of(row);
    rows.push_back(values_of(row));
  }
  fmt::print("{}\n", nlohmann::json{{"problem", given}, {"names", names}, {"rows", rows}}.dump());
}

void print_candidates_of(const std::string& types_line, const std::vector<Shape>& shapes, bool each) {
  std::vector<std::string> types;
  std::istringstream words(types_line);
  for (std::string type; std::getline(words, type, ',');) types.push_back(type);
  const Specs specs;
  const Target target("sm_90a");
  const tune::Chip chip = tune::chip_of(target, std::nullopt);
  const auto print = [&](const Shape& shape, const std::string& type) {
    const char* result = type == "s8" ? "s32" : type == "tf32" ? "f32" : "bf16";
    print_candidates(specs, target, chip, suite_problem(shape, {type, result}));
  };
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (!each) print(shapes[i], types[i % types.size()]);
    for (const std::string& type : each ? types : std::vector<std::string>()) print(shapes[i], type);
  }
}

std::vector<Shape> draw(int count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Shape> shapes;
  for (int i = 0; i < count; ++i) shapes.push_back(draw_shape(random));
  return shapes;
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

/// A problem whose configurations are compiled while the one before it is timed.
struct Case {
  nlohmann::json line;
  Settings problem;
  std::vector<std::optional<Specialised>> made;
};

std::optional<Case> next_case(const Context& ctx, std::istream& in) {
  std::string text;
  if (!std::getline(in, text)) return std::nullopt;
  Case next{.line = nlohmann::json::parse(text), .problem = {}, .made = {}};
  next.problem = gemm_template().problem(next.line.at("problem").get<Settings>());
  next.made = make_all(ctx, next.problem, next.line.at("configs").get<std::vector<Settings>>());
  return next;
}

nlohmann::json measure(const Context& ctx, const Case& one_case) {
  const tune::Task task{.tensors = make_tensors(gemm_template(), one_case.problem, {}, 1), .expected = {}};
  const auto bench = tune::make_gpu_bench(ctx.device_context(), task);
  double best = 1e30;
  nlohmann::json times = nlohmann::json::array();
  for (const auto& one : one_case.made) {
    times.push_back(nullptr);
    if (!one) continue;
    const auto cubin = one->kernels.front().cubin();
    try {
      const auto loaded =
          bench->load({.ptx = {}, .cubin = {cubin.begin(), cubin.end()}, .launches = one->launches});
      bench->run(*loaded);
      const double glance = bench->glance_us(*loaded);
      best = std::min(best, glance);
      times.back() = glance < kHopeless * best ? bench->time_us(*loaded) : glance;
    } catch (const Error& error) {
      fmt::print(stderr, "{}\n", error.what());
    }
  }
  return times;
}

void time_all(const std::string& file, double seconds) {
  const TemporaryFolder no_records;
  const Context ctx({.device = "gpu", .records_folder = no_records.path()});
  std::ifstream in(file);
  const auto begin = std::chrono::steady_clock::now();
  const auto fetch = [&] { return std::async(std::launch::async, next_case, std::cref(ctx), std::ref(in)); };
  for (auto coming = fetch(); std::optional<Case> now = coming.get();) {
    coming = fetch();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (passed.count() > seconds) break;
    now->line["us"] = measure(ctx, *now);
    fmt::print("{}\n", now->line.dump());
    std::fflush(stdout);
  }
}

nlohmann::json features_json(const gemm_kernel::Candidate& candidate) {
  nlohmann::json values = nlohmann::json::array();
  for (const gemm_kernel::Feature& feature : gemm_kernel::features())
    values.push_back(feature.value(candidate));
  return values;
}

void print_features(const std::string& file) {
  const ParameterSpace space(spaces::gemm::kSpaceJson);
  const Specs specs;
  const Target target("sm_90a");
  const tune::CostModel model(target);
  nlohmann::json names = nlohmann::json::array();
  for (const gemm_kernel::Feature& feature : gemm_kernel::features()) names.push_back(feature.name);
  std::ifstream in(file);
  for (std::string text; std::getline(in, text);) {
    const nlohmann::json line = nlohmann::json::parse(text);
    const gemm_kernel::Problem problem(space, gemm_template().problem(line.at("problem").get<Settings>()));
    const auto configs = line.at("configs").get<std::vector<Settings>>();
    nlohmann::json out{{"problem", line.at("problem")},
                       {"unit", gemm_kernel::unit_of(problem)},
                       {"names", names},
                       {"rows", nlohmann::json::array()},
                       {"predicted", nlohmann::json::array()},
                       {"us", nlohmann::json::array()}};
    for (std::size_t i = 0; i < configs.size(); ++i) {
      if (line.at("us").at(i).is_null()) continue;
      const gemm_kernel::Config config = gemm_kernel::read_config(specs, target, problem, configs[i]);
      const gemm_kernel::Problem seen = gemm_kernel::seen_by(config, problem);
      const tune::Demand demand = gemm_kernel::demand_of(target, seen, config, model.sms());
      const double us = model.us(demand);
      out["rows"].push_back(
          features_json({seen, config, demand, model.resident_blocks(demand), model.sms(), us}));
      out["predicted"].push_back(us);
      out["us"].push_back(line.at("us").at(i));
    }
    fmt::print("{}\n", out.dump());
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "candidates" && argc == 5)
    print_candidates_of(argv[2], draw(std::stoi(argv[3]), std::stoull(argv[4])), false);
  else if (mode == "candidates" && argc == 4 && std::string(argv[3]) == "suite")
    print_candidates_of(argv[2], {kSuite.begin(), kSuite.end()}, true);
  else if (mode == "time" && argc == 4)
    time_all(argv[2], std::stod(argv[3]));
  else if (mode == "features" && argc == 3)
    print_features(argv[2]);
  else
    fmt::print("choice_data candidates TYPES (COUNT SEED | suite) | time FILE SECONDS | features FILE\n");
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.kind() == ErrorKind::missing ? 0 : static_cast<int>(error.kind());  // ./dev bench runs it
}
