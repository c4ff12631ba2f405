// SPDX-License-Identifier: Apache-2.0
// How good the cost model's choices are, by measurements that choice_data has made.
//   model_error FILE [DEMANDS]
//     FILE: the lines that choice_data prints. The target is sm_90a. Needs no GPU.
//     DEMANDS: a file to write: of each line the problem, its time, and the demand as the model sees
//     it, as JSON, to fit the constants to.
// The regret of a problem is the rate of the configuration that the model expects to be the fastest, relative
// to the fastest one that was measured.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "ptxloom/gemm.hpp"
#include "ptxloom/specs.hpp"
#include "tune/model.hpp"

using namespace ptxloom;

namespace {

struct Measured {
  double us, predicted;
};

nlohmann::json as_json(const tune::Demand& d, const tune::Chip& chip) {
  return {{"threads", d.threads},
          {"resident", tune::resident_blocks(d, chip.limits)},
          {"cluster", d.cluster},
          {"blocks", d.blocks},
          {"persistent", d.persistent},
          {"in_turn", d.in_turn},
          {"rate", chip.rates.operations(d.unit)},
          {"operations", d.operations},
          {"asynchronous", d.asynchronous},
          {"instructions", d.instructions},
          {"dram_bytes", d.dram_bytes},
          {"l2_bytes", d.l2_bytes},
          {"shared_traffic", d.shared_traffic},
          {"steps", d.steps},
          {"in_flight", d.in_flight},
          {"loads", static_cast<int>(d.loads)},
          {"epilogue", d.epilogue},
          {"stored_sectors", d.stored_sectors},
          {"partial_sectors", d.partial_sectors},
          {"summed_bytes", d.summed_bytes},
          {"grid_waits", d.grid_waits},
          {"prologue_bytes", d.prologue_bytes}};
}

void print_regret(const std::map<Settings, std::vector<Measured>>& problems) {
  double logs = 0, error = 0;
  std::size_t good = 0, bad = 0, lines = 0;
  for (const auto& [problem, measured] : problems) {
    const double best = std::ranges::min_element(measured, {}, &Measured::us)->us;
    const double rate = best / std::ranges::min_element(measured, {}, &Measured::predicted)->us;
    logs += std::log(rate);
    good += rate >= 0.9 ? 1 : 0;
    bad += rate < 0.7 ? 1 : 0;
    for (const Measured& one : measured) error += std::abs(std::log(one.predicted / one.us)), ++lines;
  }
  const double count = static_cast<double>(problems.size());
  fmt::print("{} problems, {} configurations\n", problems.size(), lines);
  fmt::print("rate of the choice: {:.3f} of the best (geometric mean); at least 0.9: {:.0f} %; below 0.7: {}\n",
             std::exp(logs / count), 100 * static_cast<double>(good) / count, bad);
  fmt::print("mean error of a time: {:.0f} %\n", 100 * error / static_cast<double>(lines));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    fmt::print("model_error FILE [DEMANDS]\n");
    return 0;
  }
  const Specs specs;
  const Target target("sm_90a");
  const tune::Chip chip = tune::chip_of(target, std::nullopt);
  std::ifstream in(argv[1]);
  std::ofstream demands;
  if (argc > 2) demands.open(argv[2]);
  std::map<Settings, tune::Space> spaces;
  std::map<Settings, std::vector<Measured>> problems;
  for (std::string text; std::getline(in, text);) {
    const nlohmann::json line = nlohmann::json::parse(text);
    const Settings given = line.at("problem").get<Settings>();
    auto space = spaces.find(given);
    if (space == spaces.end())
      space = spaces.emplace(given, gemm_template().tuning_space(specs, target, gemm_template().problem(given))).first;
    const tune::Demand demand = space->second.demand(line.at("config").get<Settings>());
    const double us = line.at("us"), predicted = tune::predict(demand, chip).us;
    problems[given].push_back({us, predicted});
    if (demands.is_open())
      demands << nlohmann::json{{"problem", given}, {"us", us}, {"predicted", predicted}, {"demand", as_json(demand, chip)}} << '\n';
  }
  if (problems.empty()) throw Error(ErrorKind::usage, "no-measurements", "the file has no measurements", "choice_data prints some");
  print_regret(problems);
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return static_cast<int>(error.kind());
}
