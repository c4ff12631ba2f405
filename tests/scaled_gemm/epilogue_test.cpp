// SPDX-License-Identifier: Apache-2.0
// The epilogue of scaled_gemm in the executor: bias, weights of rows, SwiGLU and C, computed on the host from
// the product without them.
#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "ptxloom/runner.hpp"
#include "scaled_gemm/running.hpp"
#include "scaled_gemm/weight_case.hpp"

namespace ptxloom::scaled_gemm_test::epilogue {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::shape;
using test::with;

struct Launch {
  Settings problem;  // without an epilogue
  const char* target;
  Settings config = {};
};

RunResult run(const Launch& launch, const Settings& problem, const std::vector<HostTensor>& in) {
  INFO("problem " << test::words(problem) << ", " << launch.target << ", seed " << Catch::getSeed());
  RunResult result =
      run_template(executor_of(launch.target), scaled_gemm(),
                   {.problem = problem, .config = launch.config, .inputs = in, .seed = Catch::getSeed()});
  CHECK(result.verdict.first.empty());
  REQUIRE(result.verdict.ok());
  return result;
}

std::vector<double> values(const RunResult& result, std::string_view name) {
  const auto found =
      std::ranges::find(result.tensors, name, [](const HostTensor& tensor) { return tensor.plan.name; });
  REQUIRE(found != result.tensors.end());
  return test::narrow::values(found->plan.type, found->bytes);
}

/// The same launch with an epilogue, compared with what the product alone gives.
void check(const Launch& launch, const char* bias, const char* c, const char* d, bool gates) {
  const RunResult plain = run(launch, with(launch.problem, {{"d", "f32"}}), {});
  const auto size = [&](const char* name) { return std::stoull(plain.kernel.problem.at(name)); };
  const std::size_t n = size("n"), columns = gates ? n / 2 : n, ldc = columns + 3,
                    ldd = (columns + 15) / 8 * 8;
  std::vector<HostTensor> in;
  for (const HostTensor& one : plain.tensors)
    if (one.plan.name != "d") in.push_back(one);
  const RunResult all = run(launch,
                            with(launch.problem, {{"bias", bias},
                                                  {"c", c},
                                                  {"d", d},
                                                  {"row_weights", "yes"},
                                                  {"swiglu", gates ? "yes" : "no"},
                                                  {"ldc", std::to_string(ldc)},
                                                  {"ldd", std::to_string(ldd)}}),
                            in);
  const std::vector<double> sums = values(plain, "d"), of_columns = values(all, "bias"),
                            added = values(all, "c"), weights = values(all, "row_weights"),
                            got = values(all, "d");
  const std::size_t m = size("m"), batches = of_columns.size() / n;
  for (std::size_t row = 0; row < weights.size(); ++row)
    for (std::size_t column = 0; column < columns; ++column) {
      INFO("d[" << row << ", " << column << "]");
      const auto biased = [&](std::size_t at) {
        return sums[row * n + at] + of_columns[row / m % batches * n + at];
      };
      const std::size_t gate = column / 8 * 16 + column % 8;
      const double value =
          gates ? biased(gate) / (1 + std::exp(-biased(gate))) * biased(gate + 8) : biased(column);
      const double wanted = value * weights[row] + added[row * ldc + column];
      const double scale = std::abs(value * weights[row]) + std::abs(added[row * ldc + column]);
      const double precision = std::string_view(d) == "f32"   ? 0
                               : std::string_view(d) == "f16" ? 0x1p-11
                                                              : 0x1p-8;
      REQUIRE(std::abs(got[row * ldd + column] - wanted) <=
              1e-5 * (scale + 1) + precision * std::abs(wanted));
    }
}

double activated(const std::string& name, double x) {
  if (name == "relu") return x > 0 ? x : 0;
  if (name == "silu") return x / (1 + std::exp(-x));
  if (name == "gelu") return x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
  return x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) / 2;  // gelu_tanh
}

/// An activation, with factors of the product and of C, which is added before or after it.
void check_activation(const Launch& launch, const char* activation, const char* add_c) {
  const RunResult plain = run(launch, with(launch.problem, {{"d", "f32"}}), {});
  const auto size = [&](const char* name) { return std::stoull(plain.kernel.problem.at(name)); };
  std::vector<HostTensor> in;
  for (const HostTensor& one : plain.tensors)
    if (one.plan.name != "d") in.push_back(one);
  const RunResult all = run(launch,
                            with(launch.problem, {{"alpha", "0.0625"},
                                                  {"beta", "-1.5"},
                                                  {"bias", "f32"},
                                                  {"c", "f32"},
                                                  {"activation", activation},
                                                  {"add_c", add_c},
                                                  {"row_weights", "yes"}}),
                            in);
  const std::vector<double> sums = values(plain, "d"), biases = values(all, "bias"), c = values(all, "c"),
                            weights = values(all, "row_weights"), got = values(all, "d");
  const std::size_t n = size("n");
  const double precision = launch.problem.at("d") == "f32" ? 1e-5 : 0x1p-7;
  for (std::size_t row = 0; row < size("m"); ++row)
    for (std::size_t column = 0; column < n; ++column) {
      INFO("d[" << row << ", " << column << "], " << activation << ", seed " << Catch::getSeed());
      const double x = 0.0625 * sums[row * n + column] + biases[column], added = -1.5 * c[row * n + column];
      const double wanted = std::string_view(add_c) == "before"
                                ? activated(activation, x + added) * weights[row]
                                : activated(activation, x) * weights[row] + added;
      REQUIRE(std::abs(got[row * n + column] - wanted) <=
              precision * (std::abs(x) * (1 + std::abs(weights[row])) + std::abs(added) + 1));
    }
}

Settings formats(const char* a, const char* b) { return {{"format_a", a}, {"format_b", b}}; }

}  // namespace

TEST_CASE("scaled_gemm, epilogue: bias, weights of rows and C") {
  const Settings elements{
      {"tile_m", "16"}, {"tile_n", "64"}, {"tile_k", "64"}, {"warps_n", "4"}, {"split", "2"}};
  const Settings staged{
      {"tile_m", "64"}, {"tile_n", "128"}, {"tile_k", "64"}, {"warps_n", "4"}, {"split", "1"}};
  check({with(shape(19, 70, 160), formats("bf16", "s4")), "sm_90a", elements}, "f32", "bf16", "f32", false);
  check({with(shape(70, 200, 160), formats("bf16", "mxfp4")), "sm_90a", staged}, "bf16", "f32", "bf16",
        false);
  check({with(shape(70, 136, 160), formats("e4m3", "s4")), "sm_90a", staged}, "f16", "bf16", "f16", false);
  check({with(shape(35, 70, 130), formats("f16", "u4")), "sm_80"}, "f16", "f16", "f16", false);
  check({with(shape(35, 70, 160), formats("nvfp4", "nvfp4")), "sm_120a"}, "bf16", "f16", "f32", false);
}

TEST_CASE("scaled_gemm, epilogue: gates and values have a bias of their own, and batches as well") {
  const Settings batches{{"batch", "2"}};
  check({with(with(shape(19, 80, 160), formats("bf16", "s4")), batches), "sm_90a"}, "f32", "bf16", "f32",
        true);
  check({with(with(shape(19, 80, 160), formats("e4m3", "mxfp4")), batches), "sm_89"}, "bf16", "f32", "bf16",
        true);
  const Settings staged{
      {"tile_m", "64"}, {"tile_n", "128"}, {"tile_k", "64"}, {"warps_n", "8"}, {"split", "1"}};
  check({with(with(shape(100, 208, 160), formats("bf16", "mxfp4")), batches), "sm_90a", staged}, "f32",
        "bf16", "bf16", true);
  check({with(shape(70, 144, 160), formats("e4m3", "s4")), "sm_90a", with(staged, {{"tile_m", "32"}})}, "f32",
        "bf16", "f16", true);
  check({with(with(shape(19, 80, 160), formats("mxfp8_e4m3", "mxfp4")), batches), "sm_120a"}, "f32", "f16",
        "f32", true);
}

TEST_CASE("scaled_gemm, epilogue: activations and factors, by all strategies") {
  const Settings staged{
      {"tile_m", "32"}, {"tile_n", "64"}, {"tile_k", "64"}, {"warps_n", "4"}, {"split", "1"}};
  const Settings single{{"d", "f32"}}, half{{"d", "bf16"}};
  check_activation({with(with(shape(19, 72, 160), formats("bf16", "s4")), single), "sm_90a"}, "relu",
                   "after");
  check_activation({with(with(shape(70, 72, 160), formats("e4m3", "mxfp4")), half), "sm_90a", staged}, "gelu",
                   "before");
  check_activation({with(with(shape(35, 70, 130), formats("f16", "u4")), single), "sm_80"}, "silu", "before");
  check_activation({with(with(shape(35, 70, 160), formats("nvfp4", "nvfp4")), single), "sm_120a"},
                   "gelu_tanh", "after");
  check_activation({with(with(shape(35, 70, 160), formats("mxfp8_e4m3", "mxfp4")), half), "sm_89"}, "relu",
                   "before");
}

TEST_CASE("scaled_gemm, epilogue: what does not go together is refused") {
  const Settings problem = with(shape(19, 80, 160), with(formats("bf16", "s4"), {{"swiglu", "yes"}}));
  CHECK_THAT(refusal([&] { scaled_gemm().problem(with(problem, {{"activation", "relu"}})); }),
             ContainsSubstring("activation=relu") && ContainsSubstring("swiglu"));
  CHECK_THAT(refusal([&] { scaled_gemm().problem(with(problem, {{"c", "f32"}, {"add_c", "before"}})); }),
             ContainsSubstring("add_c=before"));
  CHECK_THAT(refusal([&] { scaled_gemm().problem(with(problem, {{"alpha", "1e39"}})); }),
             ContainsSubstring("does not fit f32"));
}

TEST_CASE("scaled_gemm, epilogue: with a factor of 0 there is no C") {
  const Settings problem =
      with(shape(19, 80, 160), with(formats("bf16", "s4"), {{"c", "f32"}, {"beta", "0"}}));
  for (const char* target : {"sm_80", "sm_90a"}) {
    const RunResult result = run({problem, target}, problem, {});
    for (const HostTensor& tensor : result.tensors) CHECK(tensor.plan.name != "c");
  }
}

TEST_CASE("scaled_gemm: a problem that no grid holds is refused as too large") {
  const Settings problem = scaled_gemm().problem(with(shape(1 << 30, 1 << 30, 64), formats("bf16", "s4")));
  const Specs specs;
  CHECK_THAT(refusal([&] { scaled_gemm().config(specs, Target("sm_80"), problem, {}); }),
             ContainsSubstring("[no-configuration]") && ContainsSubstring("divide it"));
}

TEST_CASE("scaled_gemm, epilogue: what is said of C without C is refused") {
  const Settings problem = with(shape(19, 80, 160), formats("bf16", "s4"));
  for (const auto& [name, value] : {std::pair{"beta", "2"}, {"beta", "-0.5"}, {"add_c", "before"}})
    CHECK_THAT(refusal([&] { scaled_gemm().problem(with(problem, {{name, value}})); }),
               ContainsSubstring(name) && ContainsSubstring("give c a type"));
  CHECK_THAT(refusal([&] { scaled_gemm().problem(with(problem, {{"ldc", "80"}})); }),
             ContainsSubstring("give c a type"));
  CHECK_THAT(refusal([&] { scaled_gemm().problem(with(problem, {{"c", "bf16"}, {"ldc", "79"}})); }),
             ContainsSubstring("ldc"));
}

}  // namespace ptxloom::scaled_gemm_test::epilogue
