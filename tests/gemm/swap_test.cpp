// SPDX-License-Identifier: Apache-2.0
// Strategy wgmma with A and B in each other's place (swap=yes), for a D of few rows.
#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "gemm/executor.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/runner.hpp"
#include "support/settings.hpp"
#include "support/wgmma_types.hpp"

namespace ptxloom::test::swap_test {
namespace {

/// Judges D, and that nothing is written between its rows.
RunResult check(const Settings& problem, const Settings& config) {
  RunResult result = run_gemm(problem, with(config, {{"swap", "yes"}}));
  CHECK(result.kernel.config.at("strategy") == "wgmma");
  return result;
}

}  // namespace

TEST_CASE("few rows of every layout", "[gemm]") {
  for (const char* a_layout : {"row", "col"})
    for (const char* b_layout : {"row", "col"})
      for (const int m : {1, 16, 17, 40, 64})
        check(with(shape(m, 200, 136), {{"a", "bf16"}, {"a_layout", a_layout}, {"b_layout", b_layout}}), {});
}

}  // namespace ptxloom::test::swap_test
