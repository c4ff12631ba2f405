// SPDX-License-Identifier: Apache-2.0
// What machine code lets expect, in a search: the order of measurements, and how well each model ranked.
#include "tune/search/code_prior.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <cstring>
#include <thread>

namespace ptxloom::tune::code_prior_test {

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

Made made_with(double predicted_us, double deviation, double code_us) {
  Made made;
  made.pick = {.predicted_us = predicted_us, .deviation = deviation};
  made.code_us = code_us;
  return made;
}

/// It wants machine code, as a device does.
class CodeMeasurer : public Measurer {
 public:
  explicit CodeMeasurer(std::function<double(const Settings&)> time) : time_(std::move(time)) {}
  std::string name() const override { return "machine code"; }
  Reading measure(const Trial& trial) override { return {.us = {time_(trial.config)}}; }
  void set_rival(const Trial*) override {}
  Code code() const override { return Code::cubin; }

 private:
  std::function<double(const Settings&)> time_;
};

Space make_space() {
  Space space;
  for (const char* name : {"x", "y", "z"}) {
    Parameter& one = space.parameters.emplace_back(Parameter{.name = name, .values = {}});
    for (int i = 0; i < 6; ++i) one.values.push_back(std::to_string(i));
  }
  return space;
}

/// No parameter tells it by itself.
double time_of(const Settings& config) {
  const int x = std::stoi(config.at("x")), y = std::stoi(config.at("y")), z = std::stoi(config.at("z"));
  return 100 + ((x * 7 + y * 11 + z * 5) % 13) * 10;
}

Candidate with_code(const Settings&) { return {.cubin = std::vector<std::byte>(16), .launches = {}}; }

}  // namespace

TEST_CASE("rank correlation is that of the ranks, with shared places for equal values") {
  CHECK_THAT(rank_correlation({1, 2, 3, 4}, {10, 20, 30, 4000}), WithinAbs(1, 1e-12));
  CHECK_THAT(rank_correlation({1, 2, 3, 4}, {9, 7, 5, -1}), WithinAbs(-1, 1e-12));
  // Ranks 0.5 0.5 2 3 and 1 0 2 3: by hand 4.5 / sqrt(4.5 * 5).
  CHECK_THAT(rank_correlation({5, 5, 6, 7}, {2, 1, 3, 4}), WithinAbs(4.5 / std::sqrt(22.5), 1e-12));
  CHECK(rank_correlation({1, 1, 1}, {1, 2, 3}) == 0);
  const Ranking ranking = ranking_of("model", {30, 10, 20, 40}, {2, 4, 5, 3});
  CHECK((ranking.place == 3 && ranking.candidates == 4));
  // Ranks 2 0 1 3 and 0 2 3 1: sum of squares of differences 4 + 4 + 4 + 4, so 1 - 6 * 16 / (4 * 15).
  CHECK_THAT(ranking.correlation, WithinAbs(1 - 96.0 / 60, 1e-12));
}

TEST_CASE("machine code counts by how certain it has been, and not before anything is measured") {
  CodePrior prior;
  CHECK(prior.expected(made_with(100, 0.3, 50)) == 100);
  for (int i = 0; i < 200; ++i) prior.tell(50, 100);  // always off by the same factor: that is corrected
  CHECK_THAT(prior.expected(made_with(80, 0.3, 50)), WithinRel(100, 0.01));
  CHECK_THAT(prior.expected(made_with(80, 0, 50)), WithinRel(80, 1e-9));
  CHECK(prior.expected(made_with(80, 0.3, 0)) == 80);
  CHECK(prior.expected(made_with(0, 0, 50)) == 0);  // what is to be tried first stays first
  CodePrior wild;
  for (int i = 0; i < 200; ++i) wild.tell(50, i % 2 == 0 ? 10 : 1000);
  CHECK(wild.expected(made_with(80, 0.1, 50)) < 85);
}

TEST_CASE("a search measures first what machine code lets expect to be fast, and says how well that ranked") {
  const Admissible space = admit(make_space(), Target("sm_90a"));
  const std::uint64_t seed = Catch::getSeed();
  // With enough threads many candidates wait for the device, which is slow.
  const auto found_after = [&](bool knows) {
    CodeMeasurer measurer([](const Settings& config) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return time_of(config);
    });
    SearchOptions options{.budget = {.evaluations = 60}, .seed = seed, .jobs = 16};
    if (knows) {
      options.code_model = [](const Candidate& candidate, const Demand&) -> std::optional<double> {
        double us = 0;
        std::memcpy(&us, candidate.cubin.data(), sizeof us);
        return 0.7 * us;
      };
    }
    const Maker make = [](const Settings& config) {
      Candidate made = with_code(config);  // its first bytes are its time
      const double us = time_of(config);
      std::memcpy(made.cubin.data(), &us, sizeof us);
      return made;
    };
    const SearchResult result = search(space, Target("sm_90a"), make, nullptr, measurer, options);
    CHECK(result.evaluations == 60);
    REQUIRE(result.rankings.size() == (knows ? 1 : 0));
    if (knows) {
      CHECK(result.rankings[0].model == "machine code");
      CHECK(result.rankings[0].candidates == 60);
      CHECK(result.rankings[0].correlation > 0.999);
      CHECK(result.rankings[0].place == 1);
      CHECK_THAT(result.candidates.back().code_us, WithinRel(0.7 * result.candidates.back().time_us, 1e-9));
    }
    double sum = 0;
    for (const Measurement& one : result.candidates) sum += one.time_us;
    return sum / 60;
  };
  const double blind = found_after(false), seeing = found_after(true);
  CAPTURE(seed, blind, seeing);
  CHECK(seeing < blind);
}

TEST_CASE("a prediction that fails does not cost the candidate") {
  const Admissible space = admit(make_space(), Target("sm_90a"));
  CodeMeasurer measurer(time_of);
  SearchOptions options{.budget = {.evaluations = 10}, .jobs = 1};
  options.code_model = [](const Candidate&, const Demand&) -> std::optional<double> {
    throw std::runtime_error("it cannot be read");
  };
  const SearchResult result = search(space, Target("sm_90a"), with_code, nullptr, measurer, options);
  CHECK(result.evaluations == 10);
  for (const Measurement& one : result.candidates) CHECK((!one.problem && one.code_us == 0));
  CHECK(result.rankings.empty());
}

}  // namespace ptxloom::tune::code_prior_test
