// SPDX-License-Identifier: Apache-2.0
// Data for the cost model, whose constants fit_model.py fits, and for its correction, which fit_correction.py
// learns.
//   choice_data candidates TYPES COUNT SEED
//     TYPES: "bf16,e4m3,s8". Draws COUNT random GEMM problems and prints a line of JSON for each: the
//     problem, the configurations among which the default choice decides on sm_90a, and their demands. Needs
//     no GPU.
//   choice_data near TYPES COUNT SEED
//     The same problems, each with 300 configurations at most: those with the least corrected times of all
//     that the cost model expects to be near the fastest. With their predicted and corrected times, and what
//     the correction sees of them. Needs no GPU.
//   choice_data candidates|near TYPES COUNT SEED models
//     The same for random problems with sizes that models have.
//   choice_data candidates|near TYPES suite
//     The same for the shapes of the suite, each in all types.
//   choice_data time FILE SECONDS
//     FILE: lines {"problem": {...}, "configs": [{...}, ...]}. Prints them with "us": the time of each
//     configuration in microseconds, null if it could not be run. Stops after SECONDS. Needs a GPU. Random
//     data, graph replays over rotating buffers.
//   choice_data features FILE
//     FILE: what `time` has printed. Prints its problems as `near` does, with the configurations that could
//     be run and their times. Needs no GPU.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <limits>
#include <optional>
#include <random>
#include <sstream>
#include <thread>

#include "bench/bench.hpp"
#include "bench/gemm/random_shapes.hpp"
#include "bench/gemm/versus_table.hpp"
#include "gemm/choice/correction.hpp"
#include "gemm/choice/demand.hpp"
#include "gemm/choice/features.hpp"
#include "gemm/choice/ranking.hpp"
#include "gemm/config/rules.hpp"
#include "ptxloom/runner.hpp"
#include "support/temporary_folder.hpp"
#include "templates/gemm/space.json.hpp"
#include "tune/model/model.hpp"
#include "tune/worker/bench.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

constexpr std::size_t kMostNear = 300;  // configurations of a problem
constexpr int kTurns = 4;
// How many times as long as the fastest may a configuration take, to be timed at all after a first glance,
// and to be timed again?
constexpr double kHopeless = 4, kInFront = 1.2;

/// What the default choice on an H200 knows.
struct Chooser {
  ParameterSpace space{spaces::gemm::kSpaceJson};
  Specs specs;
  Target target{"sm_90a"};
  tune::CostModel model{target};
  const gemm_kernel::Correction& correction = *gemm_kernel::Correction::measured(target);
};

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

void print_candidates(const Chooser& by, const Settings& given) {
  const tune::Chip chip = tune::chip_of(by.target, std::nullopt);
  const Settings problem = gemm_template().problem(given);
  const tune::Space space = gemm_template().tuning_space(by.specs, by.target, problem);
  nlohmann::json rows = nlohmann::json::array();
  nlohmann::json names;
  for (const Settings& config : gemm_template().candidates(by.specs, by.target, problem, {{"raster", "8"}})) {
    nlohmann::json row = demand_json(space.demand(config), chip);
    for (const auto& [name, value] : config) row["config." + name] = value;
    if (names.is_null()) names = names_of(row);
    rows.push_back(values_of(row));
  }
  fmt::print("{}\n", nlohmann::json{{"problem", given}, {"names", names}, {"rows", rows}}.dump());
}

using Print = std::function<void(const Settings&)>;

/// `each`: each shape in all types; otherwise the types take turns.
void print_problems(const std::string& types_line, const std::vector<Shape>& shapes, bool each,
                    const Print& print) {
  std::vector<std::string> types;
  std::istringstream words(types_line);
  for (std::string type; std::getline(words, type, ',');) types.push_back(type);
  const auto print_one = [&](const Shape& shape, const std::string& type) {
    const char* result = type == "s8" ? "s32" : type == "tf32" ? "f32" : "bf16";
    print(suite_problem(shape, {type, result}));
  };
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (!each) print_one(shapes[i], types[i % types.size()]);
    for (const std::string& type : each ? types : std::vector<std::string>()) print_one(shapes[i], type);
  }
}

std::vector<Shape> draw(int count, std::uint64_t seed, bool of_models) {
  std::mt19937_64 random(seed);
  std::vector<Shape> shapes;
  for (int i = 0; i < count; ++i) shapes.push_back(of_models ? draw_model_shape(random) : draw_shape(random));
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

/// A problem whose data and kernels are made while the one before it is timed.
struct Case {
  nlohmann::json line;
  tune::Task task;
  std::vector<std::optional<Specialised>> made;
};

std::optional<Case> next_case(const Context& ctx, std::istream& in) {
  std::string text;
  if (!std::getline(in, text)) return std::nullopt;
  Case next{.line = nlohmann::json::parse(text), .task = {}, .made = {}};
  const Settings problem = gemm_template().problem(next.line.at("problem").get<Settings>());
  next.task.tensors = make_tensors(gemm_template(), problem, {}, 1);
  next.made = make_all(ctx, problem, next.line.at("configs").get<std::vector<Settings>>());
  return next;
}

/// A configuration on the device.
struct Entry {
  std::unique_ptr<tune::Bench::Loaded> loaded;
  double glance = 0;
  std::vector<double> us = {};

  double time() const { return us.empty() ? glance : median(us); }
};

/// Null for a configuration that cannot be run.
std::vector<std::optional<Entry>> load_all(tune::Bench& bench, const Case& one_case) {
  std::vector<std::optional<Entry>> entries;
  for (const auto& one : one_case.made) {
    entries.emplace_back();
    if (!one) continue;
    const auto cubin = one->kernels.front().cubin();
    try {
      Entry entry{.loaded = bench.load(
                      {.ptx = {}, .cubin = {cubin.begin(), cubin.end()}, .launches = one->launches})};
      bench.run(*entry.loaded);
      entry.glance = bench.glance_us(*entry.loaded);
      entries.back() = std::move(entry);
    } catch (const Error& error) {
      fmt::print(stderr, "{}\n", error.what());
    }
  }
  return entries;
}

/// The times of all, and of those in front the medians of some turns.
nlohmann::json measure(const Context& ctx, const Case& one_case) {
  const auto bench = tune::make_gpu_bench(ctx.device_context(), one_case.task);
  auto entries = load_all(*bench, one_case);
  for (int turn = 0; turn < kTurns; ++turn) {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& entry : entries)
      if (entry) least = std::min(least, entry->time());
    for (auto& entry : entries)
      if (entry && entry->time() < (turn == 0 ? kHopeless : kInFront) * least)
        entry->us.push_back(bench->time_us(*entry->loaded));
  }
  nlohmann::json times = nlohmann::json::array();
  for (const auto& entry : entries) times.push_back(entry ? nlohmann::json(entry->time()) : nullptr);
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

/// What the correction sees of configurations of a problem.
class Seen {
 public:
  Seen(const Chooser& by, const Settings& given)
      : by_(by), given_(given), problem_(by.space, gemm_template().problem(given)) {
    for (const gemm_kernel::Feature& feature : gemm_kernel::features()) names_.push_back(feature.name);
  }

  /// `us`: the measured time, if there is one.
  void add(const Settings& settings, const nlohmann::json& us = nullptr) {
    const int sms = by_.model.sms();
    const gemm_kernel::Config config = gemm_kernel::read_config(by_.specs, by_.target, problem_, settings);
    const gemm_kernel::Problem seen = gemm_kernel::seen_by(config, problem_);
    const tune::Demand demand = gemm_kernel::demand_of(by_.target, seen, config, sms);
    const double predicted = by_.model.us(demand);
    const gemm_kernel::Candidate candidate{seen, config,   demand, by_.model.resident_blocks(demand),
                                           sms,  predicted};
    nlohmann::json row = nlohmann::json::array();
    for (const gemm_kernel::Feature& feature : gemm_kernel::features())
      row.push_back(feature.value(candidate));
    const double factor = by_.correction.factor(candidate);
    rows_.push_back({predicted, predicted * factor, settings, std::move(row), us});
  }

  /// Drops what is not near the least predicted time, and of the rest all but the best by corrected time.
  void keep_near() {
    if (rows_.empty()) return;
    const double least = std::ranges::min(rows_, {}, &Row::predicted).predicted;
    std::erase_if(rows_, [&](const Row& row) { return row.predicted > gemm_kernel::kNear * least; });
    std::ranges::stable_sort(rows_, {}, &Row::corrected);
    if (rows_.size() > kMostNear) rows_.resize(kMostNear);
  }

  /// The problem on a line.
  void print() const {
    nlohmann::json out{{"problem", given_}, {"unit", gemm_kernel::unit_of(problem_)}, {"names", names_}};
    for (const char* key : {"configs", "rows", "predicted", "corrected", "us"})
      out[key] = nlohmann::json::array();
    for (const Row& row : rows_) {
      out["configs"].push_back(row.config);
      out["rows"].push_back(row.features);
      out["predicted"].push_back(row.predicted);
      out["corrected"].push_back(row.corrected);
      out["us"].push_back(row.us);
    }
    fmt::print("{}\n", out.dump());
  }

 private:
  struct Row {
    double predicted, corrected;
    Settings config;
    nlohmann::json features, us;
  };

  const Chooser& by_;
  Settings given_;
  gemm_kernel::Problem problem_;
  nlohmann::json names_;
  std::vector<Row> rows_;
};

void print_near(const Chooser& by, const Settings& given) {
  Seen seen(by, given);
  const Settings problem = gemm_template().problem(given);
  for (const Settings& config : gemm_template().candidates(by.specs, by.target, problem, {{"raster", "8"}}))
    seen.add(config);
  seen.keep_near();
  seen.print();
}

void print_features(const Chooser& by, const std::string& file) {
  std::ifstream in(file);
  for (std::string text; std::getline(in, text);) {
    const nlohmann::json line = nlohmann::json::parse(text);
    Seen seen(by, line.at("problem").get<Settings>());
    const auto configs = line.at("configs").get<std::vector<Settings>>();
    for (std::size_t i = 0; i < configs.size(); ++i)
      if (const auto& us = line.at("us").at(i); !us.is_null()) seen.add(configs[i], us);
    seen.print();
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string mode = words.empty() ? "" : words[0];
  const Chooser by;
  const bool suite = words.size() == 3 && words[2] == "suite";
  const bool of_models = words.size() == 5 && words[4] == "models";
  if ((mode == "candidates" || mode == "near") && (suite || of_models || words.size() == 4)) {
    const std::vector<Shape> shapes = suite ? std::vector<Shape>(kSuite.begin(), kSuite.end())
                                            : draw(std::stoi(words[2]), std::stoull(words[3]), of_models);
    print_problems(words[1], shapes, suite, [&](const Settings& problem) {
      mode == "near" ? print_near(by, problem) : print_candidates(by, problem);
    });
  } else if (mode == "time" && words.size() == 3) {
    time_all(words[1], std::stod(words[2]));
  } else if (mode == "features" && words.size() == 2) {
    print_features(by, words[1]);
  } else {
    fmt::print(
        "choice_data candidates|near TYPES (COUNT SEED [models] | suite) | time FILE SECONDS | features "
        "FILE\n");
  }
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.kind() == ErrorKind::missing ? 0 : static_cast<int>(error.kind());  // ./dev bench runs it
}
