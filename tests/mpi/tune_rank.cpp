// SPDX-License-Identifier: Apache-2.0
// tune_rank RECORDS SLEEP_US: started by mpirun; all ranks tune one problem, whose times a callback gives.
// Each prints one line of JSON.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <ptxloom/ptxloom.hpp>
#include <thread>

namespace pl = ptxloom;

namespace {

int run(const char* records, int sleep_us) {
  const auto ranks = pl::tune::mpi_ranks();
  const int rank = ranks ? ranks->rank() : 0;
  const pl::Context context({.device = "cpu", .records_folder = records});
  // Every rank brings a device of its own, which are not equally fast.
  const auto given = pl::tune::make_measurer(
      [&](const pl::Settings& config) {
        std::this_thread::sleep_for(std::chrono::microseconds(sleep_us));
        const double x = std::stod(config.at("x")) - 7, y = std::stod(config.at("y")) - 11;
        return (1 + 0.01 * rank) * (50 + x * x + y * y);
      },
      fmt::format("device {}", rank));
  pl::Tunable what{.name = "given", .problem = {{"n", "5"}}, .space = {.parameters = {{"x", {}}, {"y", {}}}}};
  for (int i = 0; i < 15; ++i) what.space.parameters[0].values.push_back(std::to_string(i));
  for (int i = 0; i < 20; ++i) what.space.parameters[1].values.push_back(std::to_string(i));
  what.make = [](const pl::Settings&) { return pl::tune::Candidate(); };
  const pl::TuneResult result = pl::tune_kernel(
      context, what, {.budget = {}, .seed = 3, .measurer = given.get(), .ranks = ranks.get()});
  std::string shares;
  for (const pl::tune::Share& one : result.search.devices)
    shares += fmt::format("{}{}", shares.empty() ? "" : ", ", one.evaluations);
  fmt::print("{{\"rank\": {}, \"shares\": [{}], \"record\": {}}}\n", rank, shares,
             result.record ? to_json(*result.record) : "null");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    return run(argv[1], std::atoi(argv[2]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
