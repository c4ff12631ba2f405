// SPDX-License-Identifier: Apache-2.0
// A template that makes its inputs, because they must fit together.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/runner.hpp"
#include "support/errors.hpp"
#include "support/small_templates.hpp"

namespace ptxloom::test::inputs_test {
namespace {

const Settings kProblem = {{"n", "71"}};

std::vector<HostTensor> tensors(std::uint64_t seed, std::vector<HostTensor> given = {}) {
  return make_tensors(Gather(), kProblem, given, seed);
}

}  // namespace

TEST_CASE("a template's own inputs are what its kernel reads, and depend on the seed") {
  const RunResult result =
      run_template(Context({.device = "cpu"}), Gather(), {.problem = kProblem, .seed = Catch::getSeed()});
  INFO(result.verdict.first);
  CHECK(result.verdict.ok());
  CHECK(result.verdict.checked == 71);
  CHECK(tensors(1)[0].bytes == tensors(1)[0].bytes);
  CHECK(tensors(1)[0].bytes != tensors(2)[0].bytes);
}

TEST_CASE("an input that is given replaces the template's own") {
  const HostTensor start{.plan = {.name = "start"}, .bytes = std::vector<std::byte>(71 * 4, std::byte{1})};
  const std::vector<HostTensor> made = tensors(3, {start});
  CHECK(made[0].bytes == start.bytes);
  CHECK(made[1].bytes == tensors(3)[1].bytes);
}

TEST_CASE("a template that forgets an input is refused") {
  const auto code = [](Settings problem) {
    return error_of([&] { make_tensors(Gather(), problem, {}, 1); }).code();
  };
  CHECK(code({{"n", "71"}, {"forget_x", "1"}}) == "wrong-tensor");
}

}  // namespace ptxloom::test::inputs_test
