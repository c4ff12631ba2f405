// SPDX-License-Identifier: Apache-2.0
// Epilogues: bias, activations, residuals, scales and 8-bit results, with both strategies, in the CPU
// executor, compared with the reference; and invalid combinations.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "gemm/executor.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/runner.hpp"
#include "support/errors.hpp"
#include "support/narrow.hpp"
#include "support/settings.hpp"

namespace ptxloom::test::function_test {
namespace {

constexpr const char* kStrategies[] = {"mma", "wgmma"};

/// With every strategy, staged and direct. n is a multiple of 16, so that all can be staged.
void check(const Settings& more, int k = 96) {
  for (const char* strategy : kStrategies) {
    run_gemm(with(shape(70, 112, k), more), {{"strategy", strategy}});
    run_gemm(with(shape(70, 112, k), more), {{"strategy", strategy}, {"epilogue", "direct"}});
  }
}

/// f32 values of a tensor of the problem, with one of them replaced.
HostTensor special_bias(const Settings& problem, std::size_t index, float value) {
  const Settings whole = gemm_template().problem(problem);
  for (const TensorPlan& plan : gemm_template().tensors(whole)) {
    if (plan.name != "bias") continue;
    HostTensor bias = random_tensor(plan, Catch::getSeed());
    std::memcpy(bias.bytes.data() + index * sizeof value, &value, sizeof value);
    return bias;
  }
  throw Error(ErrorKind::usage, "no-bias", "the problem has no bias");
}

float element(const RunResult& result, std::size_t index) {
  for (const HostTensor& tensor : result.tensors)
    if (tensor.plan.name == "d")
      return static_cast<float>(
          narrow::decode(tensor.plan.type, narrow::load(tensor.plan.type, tensor.bytes, index)));
  return 0;
}

}  // namespace

TEST_CASE("every activation, with a bias and C before or after it", "[gemm]") {
  for (const char* activation : {"none", "relu", "gelu", "gelu_tanh", "silu"})
    for (const char* add_c : {"before", "after"})
      check({{"a", "bf16"},
             {"activation", activation},
             {"add_c", add_c},
             {"beta", "0.75"},
             {"alpha", "0.2"},
             {"bias", "f32"}});
}

TEST_CASE("a bias of every type, with results of every type", "[gemm]") {
  for (const char* bias : {"f32", "f16", "bf16"})
    for (const char* d : {"f32", "f16", "bf16", "e4m3", "e5m2", "s8"})
      check({{"a", "f16"}, {"bias", bias}, {"d", d}, {"c", "f16"}, {"beta", "1"}, {"activation", "silu"}});
}

TEST_CASE("results beyond the range of f16 are infinite, and expected to be", "[gemm]") {
  const Settings problem = with(shape(50, 80, 110), {{"a", "s8"}, {"d", "f16"}, {"alpha", "0.7"}});
  const RunResult result = run_gemm(problem, {{"strategy", "wgmma"}});
  std::size_t infinite = 0;
  for (std::size_t i = 0; i < std::size_t{50} * 80; ++i) infinite += std::isinf(element(result, i)) ? 1U : 0U;
  CHECK(infinite > 10);
  CHECK(infinite < 3000);
}

TEST_CASE("sums beyond the range of f32 are infinite, and anything where their terms cancel", "[gemm]") {
  std::mt19937 random(Catch::getSeed());
  for (const auto& [a, d] : {std::pair{"bf16", "bf16"}, {"bf16", "f32"}, {"tf32", "f32"}, {"bf16", "f16"}})
    for (const bool one_sign : {true, false}) {
      const Settings problem =
          with(shape(21, 40, 72), {{"a", a}, {"d", d}, {"alpha", one_sign ? "1" : "1e-30"}});
      std::vector<HostTensor> in = gemm_template().inputs(gemm_template().problem(problem), 1);
      for (HostTensor& tensor : in)
        for (std::size_t i = 0; i < tensor.plan.elements(); ++i) {
          const double size = tensor.plan.name == "a" ? 1e20 : 3e18,
                       sign = one_sign || random() % 2 == 0 ? 1 : -1;
          narrow::store(tensor.plan.type, tensor.bytes, i, narrow::encode(tensor.plan.type, sign * size));
        }
      for (const char* strategy : kStrategies) {
        INFO("a=" << a << " d=" << d << ", " << strategy << ", seed " << Catch::getSeed());
        const RunResult result =
            run_template(executor("sm_90a"), gemm_template(),
                         {.problem = problem, .config = {{"strategy", strategy}}, .inputs = in});
        REQUIRE(result.verdict.ok());
        for (std::size_t i = 0; one_sign && i < std::size_t{21} * 40; ++i)
          REQUIRE(element(result, i) == HUGE_VALF);
      }
    }
}

TEST_CASE("of infinite sums exactly one result is right", "[gemm]") {
  struct Case {
    const char *d, *activation, *a, *b;
    double wanted;
  };
  // 1e30 * 1e30 in bf16; an infinity among the operands; and what an epilogue makes of them.
  for (const Case& one : {Case{"f32", "none", "1e30", "1e30", HUGE_VAL},
                          {"e4m3", "none", "1e30", "1e30", 448},
                          {"s8", "none", "1e30", "-1e30", -128},
                          {"bf16", "relu", "1e30", "-1e30", 0},
                          {"f16", "none", "inf", "1", HUGE_VAL},
                          {"e5m2", "relu", "inf", "2", 57344}}) {
    INFO("d=" << one.d << " " << one.activation << " a=" << one.a << " b=" << one.b);
    const Settings problem = gemm_template().problem(
        with(shape(17, 24, 40), {{"a", "bf16"}, {"d", one.d}, {"activation", one.activation}}));
    std::vector<HostTensor> in = gemm_template().inputs(problem, 1);
    for (HostTensor& tensor : in) {
      const double value = std::stod(tensor.plan.name == "a" ? one.a : one.b);
      for (std::size_t i = 0; i < tensor.plan.elements(); ++i)
        narrow::store(tensor.plan.type, tensor.bytes, i, narrow::encode(tensor.plan.type, value));
    }
    const Expectation expected = gemm_template().expect(problem, in).at(0);
    REQUIRE(expected.points.size() == std::size_t{17} * 24);
    for (const Expectation::Point& point : expected.points) {
      REQUIRE(point.value == one.wanted);
      REQUIRE(point.tolerance == 0);
    }
    for (const char* strategy : kStrategies)
      CHECK(run_template(executor("sm_90a"), gemm_template(),
                         {.problem = problem, .config = {{"strategy", strategy}}, .inputs = in})
                .verdict.ok());
  }
}

TEST_CASE("scales per tensor, row, column, and of the result", "[gemm]") {
  for (const char* a : {"e4m3", "bf16"})
    for (const char* scale_a : {"none", "tensor", "row"})
      for (const char* scale_b : {"none", "tensor", "col"})
        check({{"a", a}, {"scale_a", scale_a}, {"scale_b", scale_b}, {"scale_d", "tensor"}, {"d", "e4m3"}});
}

TEST_CASE("integers scaled to floats and to 8 bits", "[gemm]") {
  for (const char* d : {"f32", "f16", "bf16", "s8"})
    check({{"a", "s8"},
           {"b", "u8"},
           {"d", d},
           {"alpha", "0.001"},
           {"scale_a", "row"},
           {"scale_b", "col"},
           {"bias", "f32"},
           {"activation", "relu"}});
  check({{"a", "s8"}, {"d", "bf16"}, {"c", "s32"}, {"beta", "0.01"}});
}

TEST_CASE("epilogues with unaligned rows of D, and with split k", "[gemm]") {
  const Settings function{{"bias", "bf16"},       {"scale_a", "row"}, {"scale_b", "col"},
                          {"activation", "gelu"}, {"beta", "0.5"},    {"add_c", "after"}};
  for (const char* strategy : kStrategies)
    for (const char* d : {"f32", "f16", "e4m3", "s8"}) {
      run_gemm(with(with(shape(131, 77, 72), function), {{"a", "f16"}, {"d", d}, {"ldd", "83"}}),
               {{"strategy", strategy}});
      run_gemm(with(with(shape(65, 128, 512), function), {{"a", "bf16"}, {"d", d}}),
               {{"strategy", strategy}, {"split", "2"}});
    }
}

TEST_CASE("8-bit results saturate, and NaN survives an activation", "[gemm]") {
  for (const char* strategy : kStrategies) {
    const Settings problem = with(shape(64, 64, 32), {{"a", "f16"}, {"bias", "f32"}, {"alpha", "0"}});
    const auto with_bias = [&](const Settings& more, float value) {
      const Settings whole = with(problem, more);
      return element(run_gemm(whole, {{"strategy", strategy}}, {special_bias(whole, 5, value)}), 5);
    };
    CHECK(with_bias({{"d", "e4m3"}}, 1000) == 448);
    CHECK(with_bias({{"d", "e5m2"}}, -1e6F) == -57344);
    CHECK(with_bias({{"d", "s8"}}, 1e10F) == 127);
    CHECK(with_bias({{"d", "s8"}}, -300) == -128);
    CHECK(with_bias({{"d", "s8"}}, 2.5F) == 2);
    for (const char* activation : {"relu", "gelu", "gelu_tanh", "silu"})
      CHECK(std::isnan(with_bias({{"activation", activation}}, std::numeric_limits<float>::quiet_NaN())));
    CHECK(with_bias({{"activation", "gelu"}}, 50) == 50);
    CHECK(with_bias({{"activation", "silu"}}, -200) == 0);
  }
}

TEST_CASE("epilogue options that do not fit the types are refused by name", "[gemm]") {
  const auto refusal = [](const Settings& more) {
    return error_of([&] { gemm_template().problem(with(shape(64, 64, 64), more)); }).diagnostics().front();
  };
  CHECK(refusal({{"a", "f64"}, {"activation", "relu"}}).code == "gemm-types");
  CHECK(refusal({{"a", "s8"}, {"bias", "f32"}}).code == "gemm-types");
  CHECK(refusal({{"a", "s8"}, {"c", "f16"}}).message == "gemm: c=f16 cannot be used with d=s32");
  CHECK(refusal({{"a", "s8"}, {"d", "e4m3"}}).code == "gemm-types");
  CHECK(refusal({{"activation", "tanh"}}).code == "bad-value");
  CHECK(refusal({{"scale_a", "col"}}).code == "bad-value");
}

TEST_CASE("a launch must pass what the epilogue reads", "[gemm]") {
  GemmProblem problem{.m = 64, .n = 64, .k = 64, .a = bf16};
  problem.bias = f32;
  problem.scale_a = GemmScale::vector;
  const Gemm made = gemm(executor(), problem);
  CHECK(made.problem().at("scale_a") == "row");
  std::vector<std::uint16_t> a(64 * 64), b(64 * 64);
  std::vector<float> d(64 * 64), bias(64);
  const Error error = error_of(
      [&] { made.launch(nullptr, {.a = a.data(), .b = b.data(), .d = d.data(), .bias = bias.data()}); });
  CHECK(error.diagnostics().front().code == "missing-operand");
  CHECK(error.diagnostics().front().message == "operand scale_a is missing");
}

}  // namespace ptxloom::test::function_test
