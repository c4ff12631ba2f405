// SPDX-License-Identifier: Apache-2.0
// The search without a device: times come from a callback.
#include <atomic>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "ptxloom/tune.hpp"
#include "support/errors.hpp"

namespace ptxloom::tune::search_test {
namespace {

double number(const Settings& config, const char* name) { return std::stod(config.at(name)); }

/// 6 x 6 x 5 x 3 configurations whose times have one optimum, effects of single parameters and of pairs, and
/// nothing that the demand tells.
Space make_space() {
  return {.parameters = {{"x", {"1", "2", "4", "8", "16", "32"}},
                         {"y", {"1", "2", "4", "8", "16", "32"}},
                         {"z", {"2", "3", "4", "5", "6"}},
                         {"word", {"red", "green", "blue"}}}};
}

double time_of(const Settings& config) {
  const double x = std::log2(number(config, "x")) - 3, y = std::log2(number(config, "y")) - 2;
  const double z = number(config, "z") - 4;
  const double word = config.at("word") == "green" ? 1 : config.at("word") == "red" ? 1.15 : 1.3;
  return 100 * word * (1 + 0.08 * x * x + 0.06 * y * y + 0.05 * x * y + 0.03 * z * z);
}

const Maker kNothing = [](const Settings&) { return Candidate(); };

SearchResult run(const Admissible& space, const std::function<double(const Settings&)>& time,
                 const SearchOptions& options) {
  const auto measurer = make_measurer(time);
  return search(space, Target("sm_90a"), kNothing, nullptr, *measurer, options);
}

}  // namespace

TEST_CASE("every strategy that tries all finds the best") {
  const Admissible space = admit(make_space(), Target("sm_90a"));
  for (const Strategy strategy : {Strategy::exhaustive, Strategy::random, Strategy::guided}) {
    CAPTURE(name(strategy));
    const SearchResult result = run(space, time_of, {.strategy = strategy, .seed = Catch::getSeed()});
    CHECK(result.evaluations == space.size());
    REQUIRE(result.best() != nullptr);
    CHECK(result.best()->config == Settings{{"x", "8"}, {"y", "4"}, {"z", "4"}, {"word", "green"}});
    std::set<Settings> tried;
    for (const Measurement& one : result.candidates) tried.insert(one.config);
    CHECK(tried.size() == space.size());
  }
}

TEST_CASE("halving gives the best third more samples each time") {
  const Admissible space = admit(make_space(), Target("sm_90a"));
  const SearchResult result =
      run(space, time_of,
          {.budget = {.evaluations = 130}, .strategy = Strategy::halving, .seed = Catch::getSeed()});
  CHECK(result.evaluations == 130);
  std::map<int, int> by_samples;
  std::map<Settings, int> most;
  for (const Measurement& one : result.candidates) {
    ++by_samples[one.samples];
    most[one.config] = std::max(most[one.config], one.samples);
  }
  CHECK(by_samples == std::map<int, int>{{1, 90}, {3, 30}, {9, 10}});
  std::vector<double> times;
  for (const auto& [config, samples] : most) times.push_back(time_of(config));
  std::ranges::sort(times);
  for (const auto& [config, samples] : most)
    CHECK((samples == 9 ? time_of(config) <= times[9] : time_of(config) >= times[9]));
}

TEST_CASE("the guided strategy learns what no model told it") {
  const Admissible space = admit(make_space(), Target("sm_90a"));
  const SearchResult result = run(space, time_of, {.budget = {.evaluations = 40}, .jobs = 1});
  REQUIRE(result.best() != nullptr);
  CHECK(time_of(result.best()->config) < 105);  // 5 % of 540 are; the median is 180
}

TEST_CASE("a budget, the end of the space or a stop ends a search, and what was found is kept") {
  const Admissible space = admit(make_space(), Target("sm_90a"));
  CHECK(run(space, time_of, {.budget = {.evaluations = 5}}).evaluations == 5);
  const auto slow = [](const Settings& config) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return time_of(config);
  };
  const SearchResult timed = run(space, slow, {.budget = {.seconds = 0.3}});
  CHECK(timed.seconds < 1);
  CHECK(timed.evaluations > 3);
  CHECK(timed.evaluations < 100);

  std::atomic<bool> stop{false};
  const SearchResult stopped = run(space, time_of, {.stop = &stop, .progress = [&](const Progress& progress) {
                                                      if (progress.evaluations == 3) stop = true;
                                                    }});
  CHECK(stopped.interrupted);
  CHECK(stopped.evaluations == 3);
  CHECK(stopped.best() != nullptr);
}

TEST_CASE("a faulty candidate costs only itself") {
  const Admissible space = admit(make_space(), Target("sm_90a"));
  const auto time = [](const Settings& config) {
    if (config.at("word") == "green") throw Error(ErrorKind::refused, "wrong-result", "it is wrong");
    if (config.at("word") == "blue") throw std::runtime_error("odd");
    return time_of(config);
  };
  std::atomic<int> saved = 0;
  const SearchResult result =
      run(space, time, {.save_wrong = [&](const Measurement& wrong, const Candidate&) {
            ++saved;
            return std::filesystem::path("kept") / wrong.config.at("x");
          }});
  CHECK(result.evaluations == space.size());
  CHECK(result.best()->config == Settings{{"x", "8"}, {"y", "4"}, {"z", "4"}, {"word", "red"}});
  CHECK(saved == 180);
  for (const Measurement& one : result.candidates) {
    const std::string& word = one.config.at("word");
    CHECK((one.problem ? one.problem->code : "") == (word == "green"  ? "wrong-result"
                                                     : word == "blue" ? "candidate-failed"
                                                                      : ""));
    CHECK(one.saved == (word == "green" ? std::filesystem::path("kept") / one.config.at("x") : ""));
  }
  const auto all_wrong = [](const Settings&) -> double { throw Error(ErrorKind::refused, "x", "y"); };
  CHECK(run(space, all_wrong, {.budget = {.evaluations = 10}}).best() == nullptr);
}

TEST_CASE("a time that the chip cannot reach is refused") {
  const Admissible space = admit(make_space(), Target("sm_90a"));
  const SearchResult result = run(space, time_of, {.least_us = 110});
  REQUIRE(result.best() != nullptr);
  CHECK(result.best()->time_us >= 110);
  for (const Measurement& one : result.candidates)
    CHECK((one.problem && one.problem->code == "mis-measured") == (time_of(one.config) < 110));
}

TEST_CASE("configurations known to be good come first, and only once") {
  const Admissible space = admit(make_space(), Target("sm_90a"));
  const Settings known = {{"x", "32"}, {"y", "32"}, {"z", "6"}, {"word", "blue"}};
  for (const Strategy strategy :
       {Strategy::exhaustive, Strategy::random, Strategy::guided, Strategy::halving}) {
    CAPTURE(name(strategy));
    const SearchResult result =
        run(space, time_of, {.strategy = strategy, .jobs = 1, .first = {known, {{"no", "such"}}}});
    CHECK(result.candidates.at(0).config == known);
    int times = 0;
    for (const Measurement& one : result.candidates) times += one.config == known ? 1 : 0;
    CHECK(times == 1);
  }
}

TEST_CASE("the best few are compared in alternation until their order is certain") {
  const Admissible space = admit(make_space(), Target("sm_90a"));
  const SearchResult exact = run(space, time_of, {});
  REQUIRE(!exact.final.empty());
  for (const Comparison& one : exact.final) {
    CHECK(one.verdict == Comparison::Verdict::slower);
    CHECK(one.rounds == 12);
  }
  const SearchResult equal = run(space, [](const Settings&) { return 7.0; }, {});
  REQUIRE(!equal.final.empty());
  for (const Comparison& one : equal.final) CHECK(one.verdict == Comparison::Verdict::tie);
  CHECK(equal.best()->time_us == 7);
}

TEST_CASE("strategies have names") {
  for (const Strategy strategy :
       {Strategy::exhaustive, Strategy::random, Strategy::guided, Strategy::halving})
    CHECK(parse_strategy(name(strategy)) == strategy);
  CHECK(error_of([] { parse_strategy("annealing"); }).diagnostics().front().code == "unknown-strategy");
}

}  // namespace ptxloom::tune::search_test
