// SPDX-License-Identifier: Apache-2.0
// How soon does a search find a good configuration? Replays tables of measured times (tune_table) without a
// GPU. Claim: guided, 95 % of the best of the table within 30 measured candidates on average, and within 10
// for half of the shapes.
//   tune_replay FILE [--jobs 16] [--strategy guided]     --jobs: candidates being linked while one is
//   measured
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/bench.hpp"
#include "ptxloom/tuner.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

constexpr double kGood = 0.95;

struct Table {
  Settings problem;
  DeviceInfo device;
  std::string target;
  std::map<Settings, double> times;  // of those that have one
  std::vector<Settings> configs;
  double best = std::numeric_limits<double>::infinity();
};

Table read_table(const std::string& line) {
  const nlohmann::json json = nlohmann::json::parse(line);
  const nlohmann::json& device = json.at("device");
  Table table{.problem = json.at("problem").get<Settings>(), .target = device.at("target")};
  table.device.sms = device.at("sms");
  table.device.clock_mhz = device.at("clock_mhz");
  table.device.memory_clock_mhz = device.at("memory_clock_mhz");
  table.device.memory_bus_bits = device.at("memory_bus_bits");
  for (const nlohmann::json& row : json.at("rows")) {
    table.configs.push_back(row.at("config").get<Settings>());
    if (!row.contains("time_us")) continue;
    table.times[table.configs.back()] = row["time_us"];
    table.best = std::min(table.best, row["time_us"].get<double>());
  }
  return table;
}

tune::Admissible space_of(const Table& table, const Specs& specs, const Target& target) {
  const tune::Admissible all =
      tune::admit(gemm_template().tuning_space(specs, target, table.problem), target);
  std::vector<std::size_t> places;
  for (const Settings& config : table.configs) {
    const std::size_t place = all.find(config);
    if (place < all.size()) places.push_back(place);
  }
  if (places.size() != table.configs.size())
    fmt::print(stderr, "{} of {} configurations are not in the space any more\n",
               table.configs.size() - places.size(), table.configs.size());
  return all.only(places);
}

struct Score {
  std::size_t needed = 0;             // candidates until one is good
  double after_10 = 0, after_30 = 0;  // best so far, as a part of the best of all
};

Score score(const Table& table, const tune::SearchResult& result) {
  Score found{.needed = result.candidates.size() + 1};
  double best = 0;
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    if (!result.candidates[i].problem) best = std::max(best, table.best / result.candidates[i].time_us);
    if (best >= kGood) found.needed = std::min(found.needed, i + 1);
    if (i < 10) found.after_10 = best;
    if (i < 30) found.after_30 = best;
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) try {
  std::string file, strategy = "guided";
  unsigned jobs = 16;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--jobs") == 0 && i + 1 < argc)
      jobs = static_cast<unsigned>(std::stoul(argv[++i]));
    else if (std::strcmp(argv[i], "--strategy") == 0 && i + 1 < argc)
      strategy = argv[++i];
    else
      file = argv[i];
  }
  if (file.empty()) {
    fmt::print(stderr, "usage: tune_replay FILE [--jobs N] [--strategy S]; tune_table makes the file\n");
    return 0;  // ./dev bench runs everywhere
  }
  const Specs specs;
  std::vector<double> needed;
  fmt::print(
      "| M,N,K | configurations | best us | measured until 95 % | after 10 | after 30 |\n"
      "|---|---|---|---|---|---|\n");
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const Table table = read_table(line);
    const Target target(table.target);
    const auto measurer = tune::make_measurer([&](const Settings& config) {
      const auto time = table.times.find(config);
      if (time == table.times.end()) throw Error(ErrorKind::refused, "failed", "it failed on the device");
      return time->second;
    });
    const tune::SearchResult result = tune::search(
        space_of(table, specs, target), target, [](const Settings&) { return tune::Candidate(); }, nullptr,
        *measurer,
        {.strategy = tune::parse_strategy(strategy), .seed = 1, .jobs = jobs, .device = table.device});
    const Score found = score(table, result);
    needed.push_back(static_cast<double>(found.needed));
    fmt::print("| {},{},{} | {} | {:.2f} | {} | {:.1f} % | {:.1f} % |\n", table.problem.at("m"),
               table.problem.at("n"), table.problem.at("k"), table.configs.size(), table.best, found.needed,
               100 * found.after_10, 100 * found.after_30);
  }
  if (needed.empty()) return 0;
  double sum = 0;
  for (const double one : needed) sum += one;
  fmt::print("\nmean {:.1f}, median {:.0f} measured candidates until 95 % of the best\n",
             sum / static_cast<double>(needed.size()), median(needed));
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 2;
}
