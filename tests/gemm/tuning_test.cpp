// SPDX-License-Identifier: Apache-2.0
// gemm's tuning space, and how soon a search finds good configurations in it.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <random>

#include "ptxloom/gemm.hpp"
#include "ptxloom/tuner.hpp"
#include "support/settings.hpp"

using namespace ptxloom;

namespace {

Settings problem_of(const char* m, const char* n, const char* k, const char* a = "bf16",
                    const Settings& more = {}) {
  return gemm_template().problem(test::with({{"m", m}, {"n", n}, {"k", k}, {"a", a}}, more));
}

bool accepts(const Specs& specs, const Target& target, const Settings& problem, const Settings& config) {
  try {
    gemm_template().config(specs, target, problem, config);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// A synthetic device: the model's time, distorted by effects of single parameters and of pairs that the
/// model does not know, and by 4 % of noise per configuration.
double time_of(const Settings& config, const tune::Demand& demand, std::uint64_t salt) {
  const auto number = [&](const char* name) { return std::stod(config.at(name)); };
  const double blocks = static_cast<double>(demand.blocks);
  const double warps = number("warps_m") * number("warps_n");
  const double resident = std::max(1.0, std::floor(std::min(227e3 / (double(demand.shared_bytes) + 1024),
                                                            65536.0 / (demand.registers * demand.threads))));
  const double waves = std::ceil(blocks / (132 * resident));
  const double shape = number("tile_m") / number("warps_m") * number("tile_n") / number("warps_n");
  double speed = shape / (shape + 1500) * std::min(1.0, 0.35 + 0.16 * std::sqrt(resident * warps));
  speed *= 1 - 0.25 / number("stages") - 0.002 * number("tile_k");
  if (warps == 16) speed *= 0.85;
  if (config.at("mma") == "m16n8k8") speed *= 0.7;
  if (config.at("prefetch") == "tile" && shape < 3000) speed *= 0.9;
  if (config.at("static") == "none") speed *= 0.93;
  speed *= 1 - 0.03 * std::abs(std::log2(number("raster")) - 3);
  std::seed_seq seed{
      std::uint64_t{salt}, std::hash<std::string>()(config.at("tile_m") + config.at("tile_n")),
      std::hash<std::string>()(config.at("stages") + config.at("raster") + config.at("tile_k"))};
  std::mt19937 random(seed);
  const double luck = 1 + 0.04 * (static_cast<double>(random() % 1000) / 1000 - 0.5);
  return luck * (2 + 1e-6 * waves * resident * demand.operations / blocks / (speed * 4));
}

/// At most a twentieth of the space, for tests of other things.
tune::Space without_clusters(tune::Space space) {
  for (tune::Parameter& parameter : space.parameters) {
    if (parameter.name == "split") parameter.values = {"1"};
    if (parameter.name == "multicast") parameter.values = {"none"};
    if (parameter.name == "stream_k") parameter.values = {"no"};
    if (parameter.name == "loads") parameter.values = {"warp"};
    if (parameter.name == "raster") parameter.values = {"1", "8"};
  }
  return space;
}

/// The number of measured candidates until one is within 5 % of the best.
std::size_t needed(const tune::Admissible& space, const Target& target, tune::Strategy strategy,
                   std::uint64_t seed) {
  std::vector<double> times;
  for (std::size_t i = 0; i < space.size(); ++i)
    times.push_back(time_of(space.settings(i), space.demand(i), seed));
  const double best = *std::ranges::min_element(times);
  const auto measurer =
      tune::make_measurer([&](const Settings& config) { return times.at(space.find(config)); });
  const tune::SearchResult result =
      tune::search(space, target, [](const Settings&) { return tune::Candidate(); }, nullptr, *measurer,
                   {.budget = {.evaluations = space.size()}, .strategy = strategy, .seed = seed, .jobs = 4});
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    if (result.candidates[i].time_us <= best / 0.95) return i + 1;
  }
  return space.size();
}

}  // namespace

TEST_CASE("gemm accepts exactly what its space admits", "[gemm]") {
  const Specs specs;
  std::mt19937_64 random(Catch::getSeed());
  struct Case {
    const char* target;
    Settings problem;
  };
  const Case cases[] = {
      {"sm_90a", problem_of("4096", "4096", "4096")},
      {"sm_90a", problem_of("256", "200", "512", "s8")},
      {"sm_90a", problem_of("1024", "1024", "512", "bf16", {{"bias", "f32"}, {"activation", "gelu"}})},
      {"sm_90a", problem_of("1024", "2048", "512", "tf32")},
      {"sm_90a", problem_of("40", "2048", "512", "e4m3")},
      {"sm_80", problem_of("100", "200", "300", "s8")},
      {"sm_75", problem_of("64", "8192", "8192", "f16")},
      {"sm_90a", problem_of("33", "65", "127", "f64")}};
  for (const Case& one : cases) {
    CAPTURE(one.target);
    const Target target(one.target);
    tune::Space space = gemm_template().tuning_space(specs, target, one.problem);
    if (&one != &cases[1]) space = without_clusters(std::move(space));
    const tune::Admissible admitted = tune::admit(space, target);
    CHECK(admitted.size() > 300);
    // The rules protect the chip's limits, so that these remove nothing more.
    for (std::size_t i = space.rules.size(); i < admitted.removed().size(); ++i) {
      INFO(admitted.removed()[i].rule);
      CHECK(admitted.removed()[i].count == 0);
    }
    for (int i = 0; i < 200; ++i)
      CHECK(accepts(specs, target, one.problem, admitted.settings(random() % admitted.size())));
    int refused = 0;
    for (int i = 0; i < 400; ++i) {
      Settings config;
      for (const tune::Parameter& parameter : space.parameters)
        config[parameter.name] = parameter.values[random() % parameter.values.size()];
      const bool is_in = admitted.find(config) < admitted.size();
      INFO(test::words(config));
      CHECK(accepts(specs, target, one.problem, config) == is_in);
      refused += is_in ? 0 : 1;
    }
    CHECK(refused > 100);
  }
}

TEST_CASE("a given epilogue is kept; otherwise a 16-bit D is staged where it fits", "[gemm]") {
  const Specs specs;
  const Target target("sm_80");
  for (const char* d : {"f32", "bf16"}) {
    const Settings problem =
        gemm_template().problem({{"m", "512"}, {"n", "512"}, {"k", "512"}, {"a", "bf16"}, {"d", d}});
    const auto epilogues = [&](Settings given) {
      given["strategy"] = "mma";
      std::map<std::string, int> count;
      for (const Settings& config : gemm_template().candidates(specs, target, problem, given))
        ++count[config.at("epilogue")];
      return count;
    };
    CAPTURE(d);
    const bool narrow = std::string_view(d) == "bf16";
    for (const char* epilogue : {"staged", "direct"}) {
      auto given = epilogues({{"epilogue", epilogue}});
      const bool possible = narrow || std::string_view(epilogue) == "direct";
      CHECK((given[epilogue] > 10) == possible);
      CHECK(given.size() == 1);
    }
    auto open = epilogues({});
    CHECK(open[narrow ? "staged" : "direct"] > 10);
    CHECK(open[narrow ? "direct" : "staged"] < open[narrow ? "staged" : "direct"] / 2);
  }
}

TEST_CASE("the guided search finds a good gemm far sooner than random search", "[gemm]") {
  const Specs specs;
  const Target target("sm_90a");
  const Settings problems[] = {problem_of("4096", "4096", "4096"), problem_of("128", "7168", "2048"),
                               problem_of("64", "4096", "14336"), problem_of("16", "8192", "8192")};
  double guided = 0, lucky = 0;
  for (const Settings& problem : problems) {
    const tune::Admissible space =
        tune::admit(without_clusters(gemm_template().tuning_space(specs, target, problem)), target)
            .sample(400, Catch::getSeed());
    const std::size_t steps = needed(space, target, tune::Strategy::guided, Catch::getSeed());
    CAPTURE(problem.at("m"), problem.at("n"), steps);
    CHECK(steps <= 200);
    guided += static_cast<double>(steps);
    constexpr unsigned kOrders = 4;  // a single one may be lucky
    for (unsigned order = 0; order < kOrders; ++order)
      lucky += static_cast<double>(needed(space, target, tune::Strategy::random, Catch::getSeed() + order)) /
               kOrders;
  }
  WARN("guided " << guided / std::size(problems) << ", random " << lucky / std::size(problems));
  CHECK(guided / std::size(problems) <= 60);
  CHECK(guided < lucky * 0.7);
}
