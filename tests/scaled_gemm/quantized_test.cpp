// SPDX-License-Identifier: Apache-2.0
// Matrices that the template quantize has written are multiplied as they are, both in the executor: layouts
// of elements and scales agree, and the product is near that of the matrices before.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>

#include "ptxloom/context.hpp"
#include "ptxloom/runner.hpp"
#include "scaled_gemm/running.hpp"
#include "scaled_gemm/weight_case.hpp"

namespace ptxloom::scaled_gemm_test::quantized {
namespace {

struct Quantised {
  std::vector<double> x;               // before
  HostTensor elements, scales, whole;  // `whole`: the scale of the tensor, if any
};

Quantised quantise(const char* format, std::size_t rows, std::size_t n, std::uint64_t seed) {
  Settings problem{{"rows", std::to_string(rows)}, {"n", std::to_string(n)}, {"format", format}};
  if (std::string_view(format) == "nvfp4") problem["scale_of_tensor"] = "computed";
  if (std::string_view(format).starts_with("mxfp6")) problem["packing"] = "padded";
  static const Templates all;
  const RunResult run =
      run_template(executor_of("sm_120a"), all.find("quantize"), {.problem = problem, .seed = seed});
  REQUIRE(run.verdict.ok());
  Quantised made;
  for (const HostTensor& tensor : run.tensors) {
    if (tensor.plan.name == "x") made.x = test::narrow::values(tensor.plan.type, tensor.bytes);
    if (tensor.plan.name == "y") made.elements = tensor;
    if (tensor.plan.name == "scale") made.scales = tensor;
    if (tensor.plan.name == "tensor_scale") made.whole = tensor;
  }
  return made;
}

/// D of the product of the rows of a and b: its greatest distance from the product of the numbers before, as
/// a part of the sum of magnitudes.
double error_of(const RunResult& run, const Quantised& a, const Quantised& b, std::size_t k) {
  const std::size_t m = a.x.size() / k, n = b.x.size() / k;
  const std::vector<double> d = test::narrow::values(f32, run.tensors.back().bytes);
  double worst = 0;
  for (std::size_t row = 0; row < m; ++row)
    for (std::size_t column = 0; column < n; ++column) {
      double sum = 0, magnitude = 0;
      for (std::size_t i = 0; i < k; ++i) {
        const double product = a.x[row * k + i] * b.x[column * k + i];
        sum += product, magnitude += std::abs(product);
      }
      worst = std::max(worst, std::abs(d[row * n + column] - sum) / magnitude);
    }
  return worst;
}

HostTensor as(std::string_view name, const Settings& problem, const std::vector<std::byte>& bytes) {
  for (const TensorPlan& plan : scaled_gemm().tensors(scaled_gemm().problem(problem)))
    if (plan.name == name) {
      REQUIRE(plan.bytes() == bytes.size());
      return {plan, bytes};
    }
  FAIL("no tensor " << name);
  return {};
}

RunResult multiply(const Settings& problem, const std::vector<HostTensor>& in, const char* target) {
  RunResult result = run_template(executor_of(target), scaled_gemm(), {.problem = problem, .inputs = in});
  REQUIRE(result.verdict.ok());
  return result;
}

}  // namespace

TEST_CASE("scaled_gemm multiplies what quantize has written") {
  constexpr std::size_t kM = 37, kN = 50, kK = 160;
  struct Formats {
    const char *a, *b;
    double most;  // error: about half a unit in the last place of both
  };
  for (const auto& [a, b, most] :
       {Formats{"mxfp8_e4m3", "mxfp8_e4m3", 0.05}, Formats{"mxfp6_e2m3", "mxfp4", 0.15},
        Formats{"mxfp8_e4m3", "mxfp6_e3m2", 0.1}, Formats{"mxfp4", "mxfp4", 0.25},
        Formats{"nvfp4", "nvfp4", 0.2}}) {
    INFO(a << " x " << b << ", seed " << Catch::getSeed());
    const Quantised left = quantise(a, kM, kK, Catch::getSeed()),
                    right = quantise(b, kN, kK, Catch::getSeed() + 1);
    const Settings problem =
        test::with(test::shape(kM, kN, kK), {{"format_a", a}, {"format_b", b}, {"d", "f32"}});
    std::vector<HostTensor> in{as("a", problem, left.elements.bytes), as("b", problem, right.elements.bytes),
                               as("scale_a", problem, left.scales.bytes),
                               as("scale_b", problem, right.scales.bytes)};
    if (!left.whole.bytes.empty()) {
      in.push_back(as("tensor_scale_a", problem, left.whole.bytes));
      in.push_back(as("tensor_scale_b", problem, right.whole.bytes));
    }
    const double error = error_of(multiply(problem, in, "sm_120a"), left, right, kK);
    CHECK(error < most);
    CHECK(error > 0);
  }
}

TEST_CASE("scaled_gemm multiplies weights that quantize has written and the kit has shuffled") {
  constexpr std::size_t kM = 9, kN = 70, kK = 192;
  const Quantised weights = quantise("nvfp4", kN, kK, Catch::getSeed());
  const Settings problem =
      test::with(test::shape(kM, kN, kK), {{"format_a", "bf16"}, {"format_b", "nvfp4"}, {"d", "f32"}});
  const kit::WeightLayout layout(e2m1, kN, kK);
  std::vector<std::byte> b(layout.bytes()), scales(layout.group_values(16));
  kit::shuffle_weights(layout, weights.elements.bytes, kK, b);
  kit::shuffle_groups(layout, ue4m3, 16, weights.scales.bytes, scales);
  for (const char* target : {"sm_90a", "sm_80"}) {
    const RunResult run = multiply(problem,
                                   {as("b", problem, b), as("scale_b", problem, scales),
                                    as("tensor_scale_b", problem, weights.whole.bytes)},
                                   target);
    const Quantised activations{test::narrow::values(bf16, run.tensors[0].bytes), {}, {}, {}};
    const double error = error_of(run, activations, weights, kK);
    CHECK(error < 0.1);
    CHECK(error > 0);
  }
}

}  // namespace ptxloom::scaled_gemm_test::quantized
