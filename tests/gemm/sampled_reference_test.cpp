// SPDX-License-Identifier: Apache-2.0
// The reference for large products of a benchmark, from some of their rows and columns.
#include "bench/sampled_reference.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include "gemm/executor.hpp"
#include "ptxloom/runner.hpp"
#include "support/settings.hpp"

namespace ptxloom::test::sampled_reference_test {

TEST_CASE("a reference of some rows and columns agrees with the full one", "[gemm]") {
  for (const auto& [m, n, k] : {std::array{100, 200, 33}, {1, 77, 64}, {90, 5, 40}}) {
    const Settings problem = gemm_template().problem(with(shape(m, n, k), {{"a", "bf16"}, {"d", "bf16"}}));
    RunResult result =
        run_template(executor(), gemm_template(), {.problem = problem, .seed = Catch::getSeed()});
    REQUIRE(result.verdict.ok());
    const Expectation some =
        bench::sampled_reference(problem, result.tensors[0], result.tensors[1], Catch::getSeed());
    HostTensor& d = result.tensors.back();
    CHECK(verify(some, d).ok());
    const std::uint64_t at = some.points[some.points.size() / 2].index;
    d.bytes[2 * at + 1] ^= std::byte{0x40};
    CHECK_FALSE(verify(some, d).ok());
  }
}

}  // namespace ptxloom::test::sampled_reference_test
