// SPDX-License-Identifier: Apache-2.0
// A Gemm whose template has several launches. Here a second launch of the same kernel adds the product once
// more.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include "gemm/executor.hpp"
#include "support/naive_gemm.hpp"

namespace ptxloom::test::several_launches_test {
namespace {

constexpr std::uint64_t kM = 37, kN = 43, kK = 29;

/// D = A * B + D, twice, after the bytes at the beginning of D are set to zero.
Gemm twice(std::uint64_t cleared) {
  const GemmProblem problem{.m = kM, .n = kN, .k = kK, .a = s8, .beta = 1};
  Specialised made =
      specialise(executor(), gemm_template(), gemm_template().problem(problem.settings()), {{"split", "1"}});
  made.kernels.push_back(made.kernels.front());
  made.launches.push_back(made.launches.front());
  if (cleared != 0) made.launches.front().clear = {{.tensor = "d", .bytes = cleared}};
  return {executor(), made};
}

/// How far D is from 2 * A * B, by the naive reference.
Comparison launched(const Gemm& gemm) {
  const Settings doubled =
      gemm_template().problem(GemmProblem{.m = kM, .n = kN, .k = kK, .a = s8, .alpha = 2}.settings());
  std::vector<HostTensor> tensors = make_tensors(gemm_template(), doubled, {}, Catch::getSeed());
  std::vector<Buffer> buffers;
  for (const HostTensor& tensor : tensors)
    buffers.emplace_back(executor().alloc(tensor.bytes.size())).write(tensor.bytes);
  REQUIRE(buffers.size() == 3);
  gemm.launch(nullptr, {.a = buffers[0], .b = buffers[1], .c = buffers[2], .d = buffers[2]});
  buffers[2].read(tensors.back().bytes);
  return compare_gemm(doubled, tensors);
}

}  // namespace

TEST_CASE("a Gemm runs all launches of its template in order, and clears before each what it names",
          "[gemm]") {
  const Comparison found = launched(twice(kM * kN * 4));
  INFO(found.first);
  CHECK(found.ok());
  CHECK(found.wrong == 0);
  CHECK(found.compared == kM * kN);
  CHECK(launched(twice(0)).wrong == kM * kN);
  CHECK(launched(twice((kM - 1) * kN * 4)).wrong == kN);
}

}  // namespace ptxloom::test::several_launches_test
