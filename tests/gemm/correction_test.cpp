// SPDX-License-Identifier: Apache-2.0
// The correction of the cost model: how its data are read, and that it knows what it was measured on alone.
#include "gemm/choice/correction.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <stdexcept>

#include "ptxloom/gemm.hpp"
#include "ptxloom/templates.hpp"

using namespace ptxloom;
using namespace ptxloom::gemm_kernel;

namespace {

// Trees of two features: 0.5 if tile_m is at most 64, else 0.25 or -1 as steps are few or many; and 0.125.
constexpr const char* kTrees = R"({"units": ["f16"], "features": ["tile_m", "steps"], "trees": [
  [0, 64, -1, 5000, 1, 3.0, -1, 2500, -1, -10000], [-1, 1250]]})";

double factor(const Correction& correction, int tile_m, std::uint64_t steps) {
  const Problem problem(ParameterSpace(gemm_template().space()),
                        gemm_template().problem({{"m", "96"}, {"n", "40"}, {"k", "200"}}));
  Config config{};
  config.tile_m = tile_m;
  const tune::Demand demand{.steps = steps};
  return correction.factor({problem, config, demand, 1, 132, 10});
}

}  // namespace

TEST_CASE("the trees of a correction add up to the logarithm of a factor", "[gemm]") {
  const Correction correction(kTrees);
  CHECK(factor(correction, 64, 1000) == Catch::Approx(std::exp(0.625)));
  CHECK(factor(correction, 65, 19) == Catch::Approx(std::exp(0.375)));  // log 20 < 3
  CHECK(factor(correction, 65, 20) == Catch::Approx(std::exp(-0.875)));
}

TEST_CASE("data of a correction that are none", "[gemm]") {
  const std::string head = R"({"units": [], "features": [")";
  CHECK_THROWS_AS(Correction(head + R"(colour"], "trees": []})"), std::logic_error);
  CHECK_THROWS_AS(Correction(head + R"(steps"], "trees": [[]]})"), std::logic_error);
  for (const char* tree : {"-1", "0, 1", "0, 1, -1, 2", "-1, 0, -1, 0", "1, 0, -1, 0, -1, 0",
                           "0, 1, -1, 0, -1, 0, -1, 0", "0, 1, -1, 0, -1"})
    CHECK_THROWS_AS(Correction(head + "steps\"], \"trees\": [[" + tree + "]]}"), std::logic_error);
  CHECK_NOTHROW(Correction(head + "steps\"], \"trees\": [[0, 1, -1, 0, -1, 0]]}"));
}

TEST_CASE("the correction knows the target and the operations that were measured", "[gemm]") {
  const Correction* const correction = Correction::measured(Target("sm_90a"));
  REQUIRE(correction != nullptr);
  for (const char* unit : {"f16", "b8", "tf32"}) CHECK(correction->knows(unit));
  CHECK_FALSE(correction->knows("f64"));
  for (const char* target : {"sm_80", "sm_90", "sm_100a", "sm_120a"})
    CHECK(Correction::measured(Target(target)) == nullptr);
}
