// SPDX-License-Identifier: Apache-2.0
// Inputs at the boundaries of the arithmetic.
#include <limits>
#include <numeric>

#include "rowwise/naive.hpp"

using namespace ptxloom;
using test::rowwise_tensor;
using test::run_rowwise;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Of rows that a team keeps, and of rows that it reads again.
const Settings kConfigs[] = {{{"team", "warp"}, {"elements", "32"}, {"lanes", "32"}},
                             {{"team", "block"}, {"threads", "64"}, {"elements", "4"}, {"vector", "2"}},
                             {{"team", "cluster"}, {"threads", "128"}, {"blocks", "2"}, {"vector", "2"}}};

Settings problem(const char* op, const char* x = "f32", const char* y = "f32") {
  return {{"op", op}, {"rows", "3"}, {"n", "777"}, {"x", x}, {"y", y}};
}

/// 3 rows of 777 elements.
std::vector<double> values(const std::function<double(std::size_t row, std::size_t i)>& value) {
  std::vector<double> all;
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t i = 0; i < 777; ++i) all.push_back(value(row, i));
  return all;
}

void check(const Settings& what, const std::vector<double>& x) {
  for (const Settings& config : kConfigs) run_rowwise(what, config, {rowwise_tensor(what, "x", x)});
}

double scattered(std::size_t i) { return double(i * 7919 % 1009) / 504.5 - 1; }

}  // namespace

TEST_CASE("rowwise: softmax of large and of equal values") {
  for (const char* op : {"softmax", "log_softmax"}) {
    check(problem(op), values([](auto row, auto i) { return (row == 1 ? 3e4 : 80) * scattered(i + row); }));
    check(problem(op), values([](auto row, auto) { return row == 0 ? -1e30 : 1e30 * double(row); }));
    check(problem(op, "f16", "f16"),
          values([](auto row, auto i) { return 32000 * scattered(i * (row + 1)); }));
    check(problem(op, "bf16", "bf16"), values([](auto, auto) { return 3e38; }));
  }
}

TEST_CASE("rowwise: softmax of infinities") {
  for (const char* op : {"softmax", "log_softmax"}) {
    // Some elements, all but one, and all: the last row has no softmax.
    check(problem(op), values([](auto row, auto i) {
            if (row == 0) return i % 3 == 0 ? -kInfinity : scattered(i);
            return row == 1 && i == 500 ? 2.5 : -kInfinity;
          }));
    check(problem(op, "bf16", "f16"),
          values([](auto row, auto i) { return i == 300 * row ? kInfinity : 1.0; }));
  }
  const RunResult run =
      run_rowwise(problem("softmax"), {},
                  {rowwise_tensor(problem("softmax"), "x", values([](auto, auto) { return -kInfinity; }))});
  CHECK(std::isnan(test::numbers_of(run, "y").front()));
}

TEST_CASE("rowwise: NaN stays in its row") {
  const auto x = values([](auto row, auto i) { return row == 1 && i == 700 ? NAN : scattered(i); });
  for (const char* op : {"softmax", "log_softmax", "rms_norm", "layer_norm"}) {
    const Settings what = problem(op);
    for (const Settings& config : kConfigs) {
      const RunResult run =
          run_template(test::rowwise_executor(), test::rowwise(),
                       {.problem = what, .config = config, .inputs = {rowwise_tensor(what, "x", x)}});
      const test::Numbers y = test::numbers_of(run, "y");
      for (std::size_t i = 0; i < y.size(); ++i) REQUIRE(std::isnan(y[i]) == (i / 777 == 1));
    }
  }
}

TEST_CASE("rowwise: norms of rows that are nearly constant") {
  // A mean square minus the square of the mean would lose everything.
  check(problem("layer_norm"), values([](auto row, auto i) { return 1e4 * double(row + 1) + scattered(i); }));
  check(problem("layer_norm"), values([](auto row, auto) { return 12345.678 * double(row); }));
  check(problem("layer_norm", "f16", "f16"), values([](auto row, auto) { return 60000 * double(row % 2); }));
  check(problem("rms_norm"), values([](auto row, auto) { return 777.77 * double(row); }));
}

TEST_CASE("rowwise: norms of large and of small values") {
  for (const char* op : {"rms_norm", "layer_norm"})
    for (const double scale : {1e17, 1e-3, 1e-12})
      check(problem(op), values([&](auto row, auto i) { return scale * scattered(i * (row + 1)); }));
}
