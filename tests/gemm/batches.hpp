// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "gemm/executor.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/runner.hpp"
#include "support/settings.hpp"

// Runs several products in one kernel, and checks all elements of D, those between the products too.
namespace ptxloom::test::batch_test {

inline constexpr const char* kStrategies[] = {"mma", "wgmma"};

inline const HostTensor& tensor(const std::vector<HostTensor>& all, std::string_view name) {
  for (const HostTensor& one : all)
    if (one.plan.name == name) return one;
  throw Error(ErrorKind::usage, "no-tensor", std::string(name));
}

/// Elements that are not compared keep the poison, except in the last 64 rows of a masked group.
inline void check_others(const Expectation& expected, const RunResult& result) {
  const HostTensor& d = tensor(result.tensors, "d");
  const auto number = [&](const std::string& word) {
    const auto found = result.kernel.problem.find(word);
    return found == result.kernel.problem.end() ? 0 : std::stoull(found->second);
  };
  const bool boxes =
      result.kernel.problem.contains("groups") && result.kernel.problem.at("groups") == "masked" &&
      result.kernel.config.at("strategy") == "wgmma" && result.kernel.config.at("epilogue") == "staged";
  const std::uint64_t m = number("m"), ld = number("ldd");
  std::vector<bool> compared(d.plan.elements());
  for (const Expectation::Point& point : expected.points) {
    compared[point.index] = true;
    if (!boxes) continue;
    const std::uint64_t row = point.index % (m * ld) / ld;
    for (std::uint64_t more = row; more < std::min(m, (row / 64 + 1) * 64); ++more)
      compared[point.index + (more - row) * ld] = true;
  }
  const auto size = static_cast<std::size_t>(d.plan.type.bytes());
  std::size_t touched = 0;
  for (std::size_t i = 0; i < d.bytes.size(); ++i)
    if (!compared[i / size] && d.bytes[i] != kPoison) ++touched;
  CHECK(touched == 0);
}

inline RunResult run(const Settings& problem, const Settings& config,
                     const std::vector<HostTensor>& inputs = {}) {
  RunResult result = run_gemm(problem, config, inputs);
  const Expectation expected = gemm_template().expect(result.kernel.problem, result.tensors).at(0);
  CHECK(expected.complete);
  CHECK(result.verdict.checked == expected.points.size());
  check_others(expected, result);
  return result;
}

/// Several tiles along each axis.
inline Settings tiles(const char* strategy) {
  return {{"strategy", strategy}, {"tile_m", "64"}, {"tile_n", "32"}, {"raster", "2"}};
}

}  // namespace ptxloom::test::batch_test
