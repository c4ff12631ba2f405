// SPDX-License-Identifier: Apache-2.0
// Measures a part of the gemm's configurations exhaustively, for each of 20 shapes, and appends a line for
// each shape to a file: what tune_replay judges a search by. A shape that is in the file is left out, so the
// command can be given again until the table is whole.
//   tune_table FILE [--sample 400] [--seconds 560] [--seed 1] [word=value ...]
//     --sample   configurations of a shape, drawn from all admissible ones
//     --seconds  no new shape is begun after so many
//     words      of the configuration, which all must have
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/bench.hpp"
#include "bench/gemm/tune_table.hpp"
#include "ptxloom/tuner.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;

namespace {

struct Options {
  std::string file;
  std::size_t sample = 400;
  double seconds = 560;
  std::uint64_t seed = 1;
  Settings config;
};

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (word == "--sample")
      options.sample = std::stoul(value());
    else if (word == "--seconds")
      options.seconds = std::stod(value());
    else if (word == "--seed")
      options.seed = std::stoull(value());
    else if (const auto equals = word.find('='); equals != word.npos)
      options.config[word.substr(0, equals)] = word.substr(equals + 1);
    else
      options.file = word;
  }
  return options;
}

nlohmann::json line_of(const Context& context, const TuneResult& result, const Options& options) {
  const DeviceInfo& device = context.device();
  nlohmann::json rows = nlohmann::json::array();
  for (const tune::Measurement& one : result.search.candidates) {
    nlohmann::json row = {{"config", one.config}};
    if (one.problem)
      row["problem"] = one.problem->code;
    else
      row["time_us"] = one.time_us;
    rows.push_back(std::move(row));
  }
  return {{"problem", result.problem},
          {"seed", options.seed},
          {"admissible", result.space.configurations()},
          {"device",
           {{"name", device.name},
            {"target", context.target().name()},
            {"sms", device.sms},
            {"clock_mhz", device.clock_mhz},
            {"memory_clock_mhz", device.memory_clock_mhz},
            {"memory_bus_bits", device.memory_bus_bits}}},
          {"seconds", result.search.seconds},
          {"device_busy", result.search.device_busy},
          {"rows", std::move(rows)}};
}

std::set<Settings> problems_in(const std::string& file) {
  std::set<Settings> there;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    there.insert(nlohmann::json::parse(line).at("problem").get<Settings>());
  return there;
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  if (options.file.empty()) {
    fmt::print(stderr, "usage: tune_table FILE [--sample N] [--seconds S] [--seed N] [word=value ...]\n");
    return 0;  // ./dev bench runs everywhere
  }
  const Context context({.device = "gpu"});
  const auto begin = std::chrono::steady_clock::now();
  for (const auto& shape : kTableShapes) {
    const Settings problem = gemm_template().problem(table_problem(shape));
    if (problems_in(options.file).contains(problem)) continue;
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begin;
    if (gone.count() > options.seconds) break;
    const TuneResult result = tune_template(context, gemm_template(),
                                            {.problem = problem,
                                             .config = options.config,
                                             .budget = {},
                                             .strategy = tune::Strategy::exhaustive,
                                             .seed = options.seed,
                                             .sample = options.sample});
    std::ofstream(options.file, std::ios::app) << line_of(context, result, options).dump() << '\n';
    fmt::print("{} x {} x {}: {} candidates in {:.1f} s, device busy {:.0f} %, best {:.2f} us\n", shape[0],
               shape[1], shape[2], result.search.evaluations, result.search.seconds,
               100 * result.search.device_busy, result.record ? result.record->time_us : 0);
    std::fflush(stdout);
  }
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return error.kind() == ErrorKind::missing ? 0 : static_cast<int>(error.kind());
}
