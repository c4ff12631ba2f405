// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <string>

#include "ptxloom/error.hpp"
#include "ptxloom/runner.hpp"
#include "support/naive_gemm.hpp"
#include "support/settings.hpp"

namespace ptxloom::test {

/// Throws if nothing of a gemm was compared, or less than the problem's parameters imply.
inline void require_compared(const Settings& problem, const Verdict& verdict, const Comparison& naive) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::usage, "compared-too-little", words(problem) + what);
  };
  const auto groups = problem.find("groups");
  const bool may_be_empty = groups != problem.end() && groups->second != "none";
  if (naive.computed == 0 && !may_be_empty) fail("computes nothing");
  if (!naive.enough())
    fail("was compared with the naive product in " + std::to_string(naive.compared) + " elements");
  if (verdict.checked < (naive.sampled ? 1 : naive.computed))
    fail("was compared with the reference in " + std::to_string(verdict.checked) + " elements");
}

/// Checks a run against the template's reference and against the tests' own product.
inline void check_gemm(const Settings& problem, const RunResult& result) {
  INFO("whole configuration " << words(result.kernel.config));
  INFO(result.verdict.wrong << " of " << result.verdict.checked << " wrong, worst " << result.verdict.worst
                            << " tolerances; first: " << result.verdict.first << "; unwritten "
                            << result.verdict.unwritten.size());
  CHECK(result.verdict.ok());
  const Comparison naive = compare_gemm(problem, result.tensors);
  INFO("naive product: " << naive.wrong << " of " << naive.compared << " wrong, " << naive.touched
                         << " touched; first: " << naive.first);
  CHECK(naive.ok());
  require_compared(problem, result.verdict, naive);
}

}  // namespace ptxloom::test
