// SPDX-License-Identifier: Apache-2.0
// A template with two outputs: both are compared.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/runner.hpp"
#include "support/errors.hpp"
#include "support/small_templates.hpp"

namespace ptxloom::test::several_outputs_test {
namespace {

Verdict run(const std::string& fault, Settings problem = {{"n", "77"}}) {
  return run_template(Context({.device = "cpu"}), TwoOutputs(),
                      {.problem = std::move(problem), .config = {{"fault", fault}}, .seed = Catch::getSeed()})
      .verdict;
}

}  // namespace

TEST_CASE("every output of a run is compared") {
  const Verdict good = run("none");
  CHECK(good.ok());
  CHECK(good.checked == 2 * 77);
  const Verdict first = run("wrong_y");
  CHECK(first.wrong == 77);
  CHECK(first.first.starts_with("y[0] is "));
  const Verdict second = run("wrong_z");
  CHECK(second.wrong > 70);  // some x may be 0
  CHECK(second.first.starts_with("z["));
  CHECK(run("hole_in_z").wrong == 1);
}

TEST_CASE("an output that the reference forgets is an error, not one that is right") {
  const auto code = [](Settings problem) {
    return error_of([&] { run("none", std::move(problem)); }).code();
  };
  CHECK(code({{"n", "77"}, {"forget_z", "1"}}) == "missing-expectation");
}

TEST_CASE("elements that seem unwritten in one output do not hide those of another") {
  std::vector<HostTensor> tensors;
  for (const char* name : {"y", "z"})
    tensors.push_back({.plan = {.name = name, .type = u8, .shape = {3}, .role = TensorPlan::Role::out},
                       .bytes = std::vector<std::byte>(3)});
  // y[1] is never written; z[1] equals the first poison by chance.
  const auto outputs = [&](std::byte poison) -> std::span<const HostTensor> {
    tensors[0].bytes[1] = poison;
    tensors[1].bytes[1] = kPoison;
    return tensors;
  };
  const std::vector<Expectation> expected = {{.tensor = "z", .points = {{0, 0, 0}}},
                                             {.tensor = "y", .points = {{0, 0, 0}}}};
  const Verdict verdict = verify_run(expected, outputs);
  CHECK(verdict.wrong == 0);
  CHECK(verdict.checked == 2);
  CHECK(verdict.unwritten == std::vector<std::uint64_t>{1});
  const std::vector<Expectation> of_input = {{.tensor = "x"}};
  CHECK(error_of([&] { verify_run(of_input, outputs); }).code() == "missing-tensor");
}

}  // namespace ptxloom::test::several_outputs_test
