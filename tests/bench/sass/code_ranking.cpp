// SPDX-License-Identifier: Apache-2.0
// How well the cost model and the issue model order the candidates of a search that is over, and how far they
// are off. Needs nvJitLink, and no GPU: the candidates are made and linked again.
//
//   code_ranking RESULTS.jsonl...
//
// The files have lines of `ptxloom tune --json | tr -d '\n'` on an H200, of which template, problem, and
// config and time_us of the candidates are used.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "api/code_model.hpp"
#include "bench/bench.hpp"
#include "ptxloom/build_words.hpp"
#include "ptxloom/ptx.hpp"
#include "ptxloom/templates.hpp"
#include "ptxloom/tuner.hpp"
#include "tune/model/model.hpp"
#include "tune/search/code_prior.hpp"

using namespace ptxloom;

namespace {

constexpr const char* kTarget = "sm_90a";

struct Predictions {
  std::vector<double> measured, by_demand, by_code;
  double seconds = 0;  // of the issue model
};

class Judge {
 public:
  void judge(const nlohmann::json& result) {
    const std::string name = result.at("template");
    const Template& made = Templates().find(name);
    const Settings problem = made.problem(result.at("problem").get<Settings>());
    const tune::Space space = made.tuning_space(*specs_, target_, problem);
    std::map<Settings, double> times;
    for (const nlohmann::json& one : result.at("candidates"))
      if (one.contains("time_us")) times[one.at("config").get<Settings>()] = one.at("time_us");
    Predictions all;
    std::size_t unknown = 0;
    for (const auto& [config, us] : times)
      if (!predict(made, problem, space, config, us, all)) ++unknown;
    print_table(fmt::format("{} {}", name, words_of(result)), all, unknown);
  }

 private:
  static std::string words_of(const nlohmann::json& result) {
    std::string words;
    for (const auto& [key, value] : result.at("problem").items())
      words += fmt::format("{}{}={}", words.empty() ? "" : " ", key, value.get<std::string>());
    return words;
  }

  bool predict(const Template& made, const Settings& problem, const tune::Space& space,
               const Settings& config, double us, Predictions& all) {
    const BuildWords words = split_build_words(config);
    const Settings whole = made.config(*specs_, target_, problem, words.config);
    Emitted emitted = made.emit(specs_, target_, problem, whole);
    apply_build_words(words.build, emitted.module);
    tune::Candidate candidate{.launches = std::move(emitted.launches)};
    LinkOptions how = link_options(words.build);
    how.target = kTarget;
    candidate.cubin = linker_.link(ptxloom::print(emitted.module), how).cubin;
    const tune::Demand demand = space.demand(whole);
    const auto begin = std::chrono::steady_clock::now();
    const std::optional<double> by_code = model_(candidate, demand);
    all.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!by_code) return false;
    all.measured.push_back(us);
    all.by_demand.push_back(tune::predict(demand, chip_).us);
    all.by_code.push_back(*by_code);
    return true;
  }

  /// Of each, beside the factor by which all are off in the middle.
  static double error_of(const std::vector<double>& predicted, const std::vector<double>& measured) {
    std::vector<double> logs;
    for (std::size_t i = 0; i < measured.size(); ++i) logs.push_back(std::log(predicted[i] / measured[i]));
    const double middle = bench::median(logs);
    double sum = 0;
    for (const double one : logs) sum += std::abs(one - middle);
    return sum / static_cast<double>(logs.size());
  }

  static void print_table(const std::string& title, const Predictions& all, std::size_t unknown) {
    fmt::print("{}\n", title);
    if (all.measured.size() < 3) return fmt::print("  {} predicted: too few\n", all.measured.size());
    const double best = std::ranges::min(all.measured);
    std::vector<double> both;
    for (std::size_t i = 0; i < all.measured.size(); ++i)
      both.push_back(std::sqrt(all.by_demand[i] * all.by_code[i]));
    for (const auto& [name, predicted] :
         {std::pair("cost model", &all.by_demand), std::pair("machine code", &all.by_code),
          std::pair("both", static_cast<const std::vector<double>*>(&both))}) {
      const tune::Ranking ranking = tune::ranking_of(name, *predicted, all.measured);
      const auto first = std::ranges::min_element(*predicted) - predicted->begin();
      fmt::print(
          "  {:12} {:4} candidates  correlation {:+.3f}  fastest in place {:4}  the first of its order "
          "{:.3f} of the fastest  error {:4.1f} %\n",
          name, ranking.candidates, ranking.correlation, ranking.place,
          best / all.measured[static_cast<std::size_t>(first)], 100 * error_of(*predicted, all.measured));
    }
    fmt::print("  {} not predicted; {:.1f} ms for each prediction\n", unknown,
               1e3 * all.seconds / static_cast<double>(all.measured.size()));
  }

  std::shared_ptr<const Specs> specs_ = std::make_shared<const Specs>();
  Target target_{kTarget};
  tune::Chip chip_ = tune::chip_of(target_, std::nullopt);
  tune::CodeModel model_ = api::code_model(target_, std::nullopt);
  Linker linker_{Libraries()};
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    fmt::print("code_ranking RESULTS.jsonl...\n");
    return 0;
  }
  Judge judge;
  for (int i = 1; i < argc; ++i) {
    std::ifstream in(argv[i]);
    for (std::string line; std::getline(in, line);)
      if (!line.empty()) judge.judge(nlohmann::json::parse(line));
  }
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return static_cast<int>(error.kind());
}
