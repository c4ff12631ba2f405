// SPDX-License-Identifier: Apache-2.0
// All operations and types over rows of odd lengths and pitches, in every kind of team.
#include <array>
#include <random>

#include "rowwise/naive.hpp"

using namespace ptxloom;
using test::kAffine;
using test::run_rowwise;
using test::team;
using test::with;

namespace {

constexpr const char* kOps[] = {"softmax", "log_softmax", "rms_norm", "layer_norm"};

Settings rows_of(const char* op, int rows, int n) {
  return {{"op", op}, {"rows", std::to_string(rows)}, {"n", std::to_string(n)}};
}

/// Values of rows with NaN in their padding.
std::vector<double> nan_behind_rows(std::size_t rows, std::size_t n, std::size_t pitch) {
  std::vector<double> values;
  for (std::size_t i = 0; i < rows * pitch; ++i) values.push_back(i % pitch < n ? double(i % 13) / 3 : NAN);
  return values;
}

}  // namespace

TEST_CASE("rowwise: all operations and types, by the default choice") {
  const std::array<std::array<const char*, 2>, 6> types{
      {{"f32", "f32"}, {"bf16", "bf16"}, {"f16", "f16"}, {"bf16", "f32"}, {"f32", "f16"}, {"f16", "bf16"}}};
  constexpr int kLengths[] = {1, 7, 31, 33, 1000, 1023, 4104};
  for (const char* op : kOps)
    for (std::size_t i = 0; i < types.size(); ++i)
      for (const int n : {kLengths[i], kLengths[(i + 3) % 7]})
        run_rowwise(with(rows_of(op, 5, n), {{"x", types[i][0]}, {"y", types[i][1]}}));
}

TEST_CASE("rowwise: rows of 50257 elements") {
  for (const char* op : kOps) run_rowwise(rows_of(op, 2, 50257));
  run_rowwise(with(rows_of("layer_norm", 1, 50257), {{"x", "f16"}, {"weight", "f16"}}));
  run_rowwise(with(rows_of("softmax", 2, 50257), {{"x", "f32"}}), {}, {}, "sm_80");  // in several passes
}

TEST_CASE("rowwise: every kind of team, rows that it keeps and rows that it reads again") {
  for (const char* op : kOps) {
    const bool norm = std::string(op).ends_with("norm");
    const Settings more = norm ? kAffine : Settings{};
    run_rowwise(with(rows_of(op, 37, 13), more), team("warp", 4, 64, 1, 1, 4));
    run_rowwise(with(rows_of(op, 37, 61), more), team("warp", 4, 32, 1, 2, 4));
    run_rowwise(with(rows_of(op, 3, 1000), more), team("warp", 32, 64, 1, 8, 32));
    run_rowwise(with(rows_of(op, 5, 1023), more), team("warp", 32, 128, 1, 8, 8));
    run_rowwise(with(rows_of(op, 3, 1023), more), team("block", 32, 128, 1, 8, 16));
    run_rowwise(with(rows_of(op, 2, 3001), more), team("block", 32, 128, 1, 4, 8));
    run_rowwise(with(rows_of(op, 2, 3001), more), team("cluster", 32, 128, 4, 4, 8));
    run_rowwise(with(rows_of(op, 2, 9001), more), team("cluster", 32, 128, 2, 4, 16));
    run_rowwise(with(rows_of(op, 2, 2053), more), team("cluster", 32, 128, 2, 8, 16));
  }
}

TEST_CASE("rowwise: padding is neither read nor written") {
  for (const char* op : kOps) {
    const Settings odd{{"pitch_x", "1031"}, {"pitch_y", "1027"}},
        even{{"pitch_x", "1032"}, {"pitch_y", "1024"}};
    run_rowwise(with(rows_of(op, 5, 1023), odd));
    run_rowwise(with(rows_of(op, 5, 1001), even), team("block", 32, 64, 1, 8, 16));
    run_rowwise(with(rows_of(op, 5, 1001), with(odd, {{"x", "f32"}})), team("warp", 32, 64, 1, 4, 8));
    const Settings padded = with(rows_of(op, 3, 61), {{"pitch_x", "67"}, {"x", "f16"}});
    run_rowwise(padded, {}, {test::rowwise_tensor(padded, "x", nan_behind_rows(3, 61, 67))});
  }
}

TEST_CASE("rowwise: residual, weight and bias of their own types") {
  for (const char* op : {"rms_norm", "layer_norm"})
    for (const char* type : {"f32", "f16", "bf16"})
      for (const char* name : {"residual", "weight", "bias"})
        run_rowwise(with(rows_of(op, 3, 333), {{name, type}, {"x", "f16"}, {"eps", "0.25"}}));
}

TEST_CASE("rowwise: older and newer targets") {
  for (const char* op : kOps) {
    run_rowwise(with(rows_of(op, 3, 1003), {{"x", "bf16"}, {"y", "f16"}}), {}, {}, "sm_75");
    run_rowwise(with(rows_of(op, 3, 1003), {{"x", "f32"}, {"y", "bf16"}}), {}, {}, "sm_80");
    run_rowwise(rows_of(op, 3, 1003), {}, {}, "sm_120a");
  }
}

TEST_CASE("rowwise: random configurations of random problems") {
  std::mt19937 random(Catch::getSeed());
  const auto below = [&](std::size_t n) { return static_cast<int>(random() % n); };
  constexpr const char* kTypes[] = {"f32", "f16", "bf16"};
  constexpr const char* kOptional[] = {"none", "f32", "f16", "bf16"};
  const Specs specs;
  for (int i = 0; i < 60; ++i) {
    const char* op = kOps[below(4)];
    const int n = 1 + below(std::size_t{1} << (2 + below(11)));
    Settings problem = with(rows_of(op, 1 + below(9), n), {{"x", kTypes[below(3)]}, {"y", kTypes[below(3)]}});
    if (below(2) == 0) problem["pitch_x"] = std::to_string(n + below(9));
    if (below(2) == 0) problem["pitch_y"] = std::to_string(n + below(9));
    if (std::string(op).ends_with("norm"))
      for (const char* name : {"residual", "weight", "bias"}) problem[name] = kOptional[below(4)];
    const tune::Space space =
        test::rowwise().tuning_space(specs, Target("sm_90a"), test::rowwise().problem(problem));
    const tune::Admissible all = admit(space, Target("sm_90a"));
    run_rowwise(problem, all.settings(random() % all.size()));
  }
}
