// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "ptxloom/context.hpp"
#include "ptxloom/gemm.hpp"
#include "support/check_gemm.hpp"
#include "support/settings.hpp"

namespace ptxloom::test {

/// Runs a gemm on a device with its first candidate and two others, and compares every element.
inline void check_candidates(const Context& context, const Settings& problem, std::mt19937& random) {
  const auto found =
      gemm_template().candidates(context.specs(), context.target(), gemm_template().problem(problem), {});
  for (int i = 0; i < 3; ++i) {
    const Settings& config = found[i == 0 ? 0 : random() % found.size()];
    INFO(words(problem) << "| " << words(config) << "| seed " << Catch::getSeed());
    try {
      const RunResult result =
          run_template(context, gemm_template(),
                       {.problem = problem, .config = config, .inputs = {}, .seed = Catch::getSeed()});
      check_gemm(problem, result);
    } catch (const Error& error) {
      FAIL_CHECK(error.what());
    }
  }
}

}  // namespace ptxloom::test
