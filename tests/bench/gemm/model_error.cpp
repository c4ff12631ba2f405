// SPDX-License-Identifier: Apache-2.0
// How good the cost model's choices are, by measurements that `choice_data time` has made.
//   model_error FILE [DRAM]
//     FILE: the lines that it printed. The target is sm_90a. Needs no GPU.
//     DRAM: peak bandwidth of the measured device's memory in GB/s; default: that of an H200
// The rate of a problem's choice is the least measured time, divided by that of the configuration that the
// model expects to be the fastest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "ptxloom/gemm.hpp"
#include "ptxloom/specs.hpp"
#include "tune/model/model.hpp"

using namespace ptxloom;

namespace {

struct Measured {
  double us, predicted;
};

void print_rates(const std::map<Settings, std::vector<Measured>>& problems) {
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
  fmt::print(
      "rate of the choice: {:.3f} of the best (geometric mean); at least 0.9: {:.0f} %; below 0.7: {}\n",
      std::exp(logs / count), 100 * static_cast<double>(good) / count, bad);
  fmt::print("mean error of a time: {:.0f} %\n", 100 * error / static_cast<double>(lines));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    fmt::print("model_error FILE [DRAM]\n");
    return 0;
  }
  const Specs specs;
  const Target target("sm_90a");
  tune::Chip chip = tune::chip_of(target, std::nullopt);
  if (argc > 2) chip.dram_bytes_per_s = 1e9 * std::stod(argv[2]);
  std::ifstream in(argv[1]);
  std::map<Settings, std::vector<Measured>> problems;
  for (std::string text; std::getline(in, text);) {
    const nlohmann::json line = nlohmann::json::parse(text);
    const Settings given = line.at("problem").get<Settings>();
    const tune::Space space = gemm_template().tuning_space(specs, target, gemm_template().problem(given));
    for (std::size_t i = 0; i < line.at("us").size(); ++i) {
      if (line.at("us")[i].is_null()) continue;
      const tune::Demand demand = space.demand(line.at("configs")[i].get<Settings>());
      problems[given].push_back({line.at("us")[i], tune::predict(demand, chip).us});
    }
  }
  if (problems.empty())
    throw Error(ErrorKind::usage, "no-measurements", "the file has no measurements",
                "choice_data prints some");
  print_rates(problems);
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return static_cast<int>(error.kind());
}
