// SPDX-License-Identifier: Apache-2.0
// Norms that are rounded to e4m3 with a scale for each row, against the textbook formula.
#include <algorithm>

#include "rowwise/naive.hpp"
#include "support/errors.hpp"

namespace ptxloom::test::quantised_test {
namespace {

Settings norm(const char* op, int rows, int n, const Settings& more = {}) {
  return with({{"op", op}, {"rows", std::to_string(rows)}, {"n", std::to_string(n)}, {"y", "e4m3"}}, more);
}

/// Runs it, and compares y * scale with the naive result of each row, and the largest of its y with 448.
RunResult run(const Settings& given, const Settings& config = {}, const std::vector<HostTensor>& inputs = {},
              const std::string& target = "sm_90a") {
  INFO("problem " << words(given) << ", config " << words(config) << " on " << target << ", seed "
                  << Catch::getSeed());
  RunResult run =
      run_template(rowwise_executor(target), rowwise(),
                   {.problem = given, .config = config, .inputs = inputs, .seed = Catch::getSeed()});
  INFO("all parameters " << words(run.kernel.config));
  CHECK(run.verdict.first.empty());
  REQUIRE(run.verdict.ok());
  const Settings& problem = run.kernel.problem;
  const auto size = [&](const char* name) { return static_cast<std::size_t>(std::stoull(problem.at(name))); };
  const Numbers x = numbers_of(run, "x"), residual = numbers_of(run, "residual"), y = numbers_of(run, "y"),
                scale = numbers_of(run, "scale"), weight = numbers_of(run, "weight"),
                bias = numbers_of(run, "bias");
  CHECK(run.verdict.checked >= size("rows") * (size("n") + 1));
  REQUIRE(scale.size() == size("rows"));
  for (std::size_t row = 0; row < size("rows"); ++row) {
    Numbers values;
    for (std::size_t i = row * size("pitch_x"); i < row * size("pitch_x") + size("n"); ++i)
      values.push_back(x[i] + (residual.empty() ? 0 : residual[i]));
    const Numbers wanted = naive_row(problem.at("op"), values, weight, bias, std::stold(problem.at("eps")));
    long double largest = 0, largest_y = 0;
    for (const long double value : wanted) largest = std::max(largest, std::abs(value));
    CAPTURE(row);
    REQUIRE(std::abs(scale[row] * 448 - largest) <= 3e-5L * largest + 1e-29L);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const long double one = y[row * size("pitch_y") + i], exact = wanted[i] / scale[row];
      largest_y = std::max(largest_y, std::abs(one));
      REQUIRE(std::abs(one - exact) <= std::abs(exact) * 0x1.01p-4L + 0x1.1p-10L + 0.002L);
    }
    CHECK(largest_y == (largest > 0 ? 448 : 0));
  }
  return run;
}

}  // namespace

TEST_CASE("rowwise: norms in e4m3 with a scale for each row, by the default choice") {
  for (const char* op : {"rms_norm", "layer_norm"})
    for (const int n : {2, 31, 333, 1000, 4104})
      for (const char* type : {"bf16", "f16", "f32"}) {
        run(norm(op, 5, n, {{"x", type}}));
        run(norm(op, 3, n, with(kAffine, {{"x", type}})), {}, {}, "sm_89");
      }
}

TEST_CASE("rowwise: norms in e4m3 by every kind of team, also of rows that are read again") {
  for (const char* op : {"rms_norm", "layer_norm"}) {
    run(norm(op, 37, 13, kAffine), team("warp", 4, 64, 1, 1, 4));
    run(norm(op, 37, 61), team("warp", 4, 32, 1, 2, 4));
    run(norm(op, 5, 1023, kAffine), team("warp", 32, 128, 1, 8, 8));
    run(norm(op, 3, 1023), team("block", 32, 128, 1, 8, 16));
    run(norm(op, 2, 3001, kAffine), team("block", 32, 128, 1, 4, 8));
    run(norm(op, 2, 3001, kAffine), team("cluster", 32, 128, 4, 4, 8));
    run(norm(op, 2, 2053), team("cluster", 32, 128, 2, 8, 16));
    run(norm(op, 5, 1001, {{"pitch_x", "1032"}, {"pitch_y", "1027"}}), team("block", 32, 64, 1, 8, 16));
    run(norm(op, 5, 1001, {{"pitch_x", "1031"}, {"pitch_y", "1035"}}), team("block", 32, 64, 1, 8, 16));
  }
}

TEST_CASE("rowwise: a row of zeros is zeros in e4m3, with a scale that is not zero") {
  const Settings problem = norm("rms_norm", 3, 45, {{"x", "f32"}});
  std::vector<double> values(std::size_t{3} * 45, 0);
  for (std::size_t i = 0; i < 45; ++i) values[i] = double(i) - 20, values[90 + i] = i == 7 ? -3 : 0;
  const RunResult result = run(problem, {}, {rowwise_tensor(problem, "x", values)});
  for (const long double scale : numbers_of(result, "scale")) CHECK(scale > 0);
}

TEST_CASE("rowwise: a NaN stays in its column of e4m3, and does not count for the scale") {
  const Settings problem = norm("layer_norm", 3, 45, {{"weight", "f32"}});
  std::vector<double> weight(45, 2);
  weight[7] = NAN;
  const RunResult result = run_template(
      rowwise_executor("sm_90a"), rowwise(),
      {.problem = problem, .inputs = {rowwise_tensor(problem, "weight", weight)}, .seed = Catch::getSeed()});
  CHECK(result.verdict.ok());
  const Numbers y = numbers_of(result, "y");
  for (std::size_t row = 0; row < 3; ++row) {
    long double largest = 0;
    for (std::size_t i = 0; i < 45; ++i) {
      CHECK(std::isnan(y[row * 45 + i]) == (i == 7));
      if (i != 7) largest = std::max(largest, std::abs(y[row * 45 + i]));
    }
    CHECK(largest == 448);
  }
}

TEST_CASE("rowwise: an infinite result makes the scale of its row infinite, itself NaN and the others 0") {
  const Settings problem = norm("rms_norm", 3, 45, {{"weight", "f32"}});
  std::vector<double> weight(45, 2);
  weight[7] = INFINITY;
  const RunResult result = run_template(
      rowwise_executor("sm_90a"), rowwise(),
      {.problem = problem, .inputs = {rowwise_tensor(problem, "weight", weight)}, .seed = Catch::getSeed()});
  CHECK(result.verdict.ok());
  for (const long double scale : numbers_of(result, "scale")) CHECK(std::isinf(scale));
  const Numbers y = numbers_of(result, "y");
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (i % 45 == 7)
      CHECK(std::isnan(y[i]));
    else
      CHECK(y[i] == 0);
  }
}

TEST_CASE("rowwise: targets without a conversion to e4m3 round by its fallback; a softmax is refused") {
  CHECK(error_of([] { rowwise().problem(norm("softmax", 3, 4)); }).code() == "bad-value");
  for (const char* target : {"sm_75", "sm_86"})
    for (const char* op : {"rms_norm", "layer_norm"})
      for (const int n : {1, 32, 333}) run(norm(op, 3, n), {}, {}, target);
}

}  // namespace ptxloom::test::quantised_test
