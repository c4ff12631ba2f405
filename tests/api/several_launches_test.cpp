// SPDX-License-Identifier: Apache-2.0
// A template with two launches, which pass data on through the workspace.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/prepared_launch.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/tune.hpp"
#include "support/errors.hpp"
#include "support/small_templates.hpp"

namespace ptxloom::test::several_launches_test {
namespace {

const Settings kProblem = {{"rows", "11"}, {"n", "45"}};

RunResult run(const std::string& fault) {
  return run_template(Context({.device = "cpu"}), ColumnSums(),
                      {.problem = kProblem, .config = {{"fault", fault}}, .seed = Catch::getSeed()});
}

}  // namespace

TEST_CASE("a template's launches run one after the other, and what they clear is zeros") {
  const RunResult result = run("none");
  INFO(result.verdict.first);
  CHECK(result.verdict.ok());
  CHECK(result.verdict.checked == 45);
  REQUIRE(result.kernel.launches.size() == 2);
  REQUIRE(result.kernel.kernels.size() == 2);
  CHECK(result.kernel.kernels[0].name() == "partial_sums");
  CHECK(result.kernel.kernels[1].name() == "total");
  for (const char* fault : {"first_only", "second_only", "exchanged", "y_not_cleared"}) {
    CAPTURE(fault);
    CHECK_FALSE(run(fault).verdict.ok());
  }
}

TEST_CASE("several launches are prepared as one, and repeat") {
  const Context context({.device = "cpu"});
  const ColumnSums sums;
  KernelPool pool;
  const Specialised made = specialise(context, sums, kProblem, {}, {.pool = &pool});
  CHECK(pool.size() == 2);
  const HostTensor x = random_tensor(made.tensors[0], Catch::getSeed());
  Buffer in = context.alloc(x.bytes.size()), out = context.alloc(45 * 4),
         workspace = context.alloc(workspace_bytes(made.launches));
  in.write(x.bytes);
  workspace.fill(kPoison);
  const std::vector<std::string_view> names{"x", "y", kWorkspace};
  const PreparedLaunch prepared(made.kernels, made.launches, 0, names);
  for (int time = 0; time < 2; ++time) {
    out.fill(kPoison);
    prepared.launch(nullptr, std::vector<std::uint64_t>{in.address(), out.address(), workspace.address()});
    HostTensor y = poisoned_tensor(made.tensors[1]);
    out.read(y.bytes);
    CHECK(verify(sums.expect(kProblem, std::vector{x}).at(0), y).ok());
  }
  CHECK(error_of([&] { PreparedLaunch(made.kernels, std::span(made.launches).first(1), 0, names); }).code() ==
        "launch-count");
  const std::vector<std::string_view> no_y{"x", kWorkspace};
  CHECK(error_of([&] { PreparedLaunch(made.kernels, made.launches, 0, no_y); }).code() == "unknown-tensor");
}

}  // namespace ptxloom::test::several_launches_test
