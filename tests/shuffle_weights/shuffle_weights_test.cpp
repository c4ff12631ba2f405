// SPDX-License-Identifier: Apache-2.0
// The template shuffle_weights in the executor: what the kernel writes is what the host's functions write,
// and lies where docs/scaled_gemm.md says; what it writes, scaled_gemm multiplies.
#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <random>

#include "ptxloom/context.hpp"
#include "ptxloom/runner.hpp"
#include "scaled_gemm/running.hpp"
#include "support/executor_of.hpp"
#include "support/misaligned.hpp"
#include "support/narrow.hpp"
#include "support/settings.hpp"

namespace ptxloom::shuffle_weights_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using scaled_gemm_test::refusal;
using scaled_gemm_test::scaled_gemm;
using test::executor_of;
using test::with;

const Template& shuffle_weights() {
  static const Templates all;
  return all.find("shuffle_weights");
}

RunResult run(const Settings& given, const Settings& config = {}, std::vector<HostTensor> inputs = {},
              const char* target = "sm_80") {
  const Settings problem = shuffle_weights().problem(given);
  if (inputs.empty()) inputs = shuffle_weights().inputs(problem, Catch::getSeed());
  INFO("problem " << test::words(problem) << ", config " << test::words(config) << ", seed "
                  << Catch::getSeed());
  RunResult result = run_template(executor_of(target), shuffle_weights(),
                                  {.problem = problem, .config = config, .inputs = std::move(inputs)});
  CHECK(result.verdict.first.empty());
  REQUIRE(result.verdict.ok());
  return result;
}

Settings sizes(const char* n, const char* k, const char* format, const char* activations = "bf16") {
  return {{"n", n}, {"k", k}, {"format", format}, {"activations", activations}};
}

}  // namespace

TEST_CASE("shuffle_weights: as the host does, for all formats and activations") {
  for (const auto& [format, activations] : {std::pair{"s4", "bf16"},
                                            {"u4", "f16"},
                                            {"mxfp4", "bf16"},
                                            {"nvfp4", "bf16"},
                                            {"s4", "e4m3"},
                                            {"u4", "e4m3"},
                                            {"u4", "s8"},
                                            {"mxfp4", "e4m3"},
                                            {"mxfp6_e2m3", "bf16"},
                                            {"mxfp6_e3m2", "e4m3"},
                                            {"s4", "s8"},
                                            {"s8", "bf16"},
                                            {"e4m3", "f16"},
                                            {"mxfp8_e5m2", "bf16"}})
    for (const char* threads : {"128", "512"}) {
      run(sizes("131", "301", format, activations), {{"threads", threads}});
      run(with(sizes("70", "64", format, activations), {{"batch", "3"}, {"pitch", "92"}}),
          {{"threads", threads}});
    }
  run(sizes("1", "1", "s4"));
}

TEST_CASE("shuffle_weights: groups and types of scales") {
  for (const char* group : {"16", "64", "1024", "row"})
    for (const char* scale : {"bf16", "f32"})
      run(with(sizes("67", "600", "u4"), {{"group", group}, {"scale", scale}}), {}, {}, "sm_75");
}

TEST_CASE("shuffle_weights: what it takes by default, scaled_gemm reads by default") {
  for (const auto& [format, activations] : {std::pair{"s4", "bf16"},
                                            {"u4", "f16"},
                                            {"s8", "f16"},
                                            {"e4m3", "bf16"},
                                            {"s4", "e4m3"},
                                            {"u4", "s8"}}) {
    const Settings shuffled = shuffle_weights().problem(sizes("64", "256", format, activations));
    const Settings product = scaled_gemm().problem(
        {{"m", "16"}, {"n", "64"}, {"k", "256"}, {"format_a", activations}, {"format_b", format}});
    INFO(format << " beside " << activations);
    CHECK(shuffled.at("scale") == product.at("scale_b"));
    CHECK(shuffled.at("group") == product.at("group"));
  }
}

TEST_CASE("shuffle_weights: elements lie where the documentation says") {
  const RunResult result = run(sizes("150", "200", "s4"));
  const std::span<const std::byte> x = result.tensors[0].bytes, b = result.tensors[2].bytes;
  for (std::size_t row = 0; row < 150; ++row)
    for (std::size_t k = 0; k < 200; ++k) {
      const std::size_t r = row % 64, tile = row / 64 * 4 + k / 64;
      const std::size_t byte = tile * 2048 + (r / 16 * 32 + r % 8 * 4 + k % 8 / 2) * 16 + k % 64 / 16 * 4;
      const std::size_t nibble = byte * 2 + k % 2 * 4 + r % 16 / 8 + k % 16 / 8 * 2;
      REQUIRE(test::narrow::load(s4, b, nibble) == test::narrow::load(s4, x, row * 200 + k));
    }
}

TEST_CASE("shuffle_weights: scaled_gemm multiplies what it writes, by scales in f32 from quantize") {
  static const Templates all;
  const Context& context = executor_of("sm_90a");
  const Template& quantize = all.find("quantize");
  const Settings matrix = quantize.problem(
      {{"rows", "70"}, {"n", "330"}, {"format", "s4"}, {"scales", "group"}, {"group", "64"}, {"x", "f32"}});
  const RunResult narrow = run_template(
      context, quantize, {.problem = matrix, .inputs = quantize.inputs(matrix, Catch::getSeed())});
  REQUIRE(narrow.verdict.ok());
  const auto tensor = [&](const RunResult& from, const char* name) {
    return *std::ranges::find(from.tensors, name, [](const HostTensor& t) { return t.plan.name; });
  };
  HostTensor elements = tensor(narrow, "y");
  elements.plan.name = "x";
  const RunResult ordered = run(with(sizes("70", "330", "s4"), {{"group", "64"}, {"scale", "f32"}}), {},
                                {std::move(elements), tensor(narrow, "scale")}, "sm_90a");
  const Settings product = scaled_gemm().problem({{"m", "9"},
                                                  {"n", "70"},
                                                  {"k", "330"},
                                                  {"format_a", "bf16"},
                                                  {"format_b", "s4"},
                                                  {"group", "64"},
                                                  {"scale_b", "f32"},
                                                  {"d", "f32"}});
  std::vector<HostTensor> inputs = scaled_gemm().inputs(product, Catch::getSeed());
  inputs[1].bytes = tensor(ordered, "b").bytes;
  inputs[2].bytes = tensor(ordered, "scale_b").bytes;
  const RunResult d = run_template(context, scaled_gemm(), {.problem = product, .inputs = inputs});
  REQUIRE(d.verdict.ok());
  const std::vector<double> a = test::narrow::values(bf16, inputs[0].bytes);
  const std::vector<double> x = test::narrow::values(f32, tensor(narrow, "x").bytes);
  const std::vector<double> got = test::narrow::values(f32, d.tensors.back().bytes);
  const std::size_t lda = std::stoull(product.at("lda"));
  for (std::size_t i = 0; i < 9; ++i)
    for (std::size_t j = 0; j < 70; ++j) {
      double sum = 0, allowed = 0;
      for (std::size_t l = 0; l < 330; ++l) {
        double largest = 0;  // of the group: a weight is off by half a step of a seventh of it
        for (std::size_t g = l / 64 * 64; g < std::min<std::size_t>(l / 64 * 64 + 64, 330); ++g)
          largest = std::max(largest, std::abs(x[j * 330 + g]));
        sum += a[i * lda + l] * x[j * 330 + l];
        allowed += std::abs(a[i * lda + l]) * (largest / 14 + largest * 0x1p-8);
      }
      REQUIRE(std::abs(got[i * 70 + j] - sum) <= allowed);
    }
}

TEST_CASE("shuffle_weights: what cannot be served is refused") {
  const auto refused = [](const Settings& given) {
    return refusal([&] { shuffle_weights().problem(given); });
  };
  CHECK(refused(sizes("64", "64", "s4", "s8")) == "it was accepted");
  CHECK_THAT(refused(sizes("64", "64", "mxfp4", "s8")), ContainsSubstring("activations=s8"));
  CHECK_THAT(refused(sizes("64", "64", "s8", "e4m3")), ContainsSubstring("bf16 and f16"));
  CHECK_THAT(refused(sizes("64", "64", "s4", "e5m2")), ContainsSubstring("activations"));
  CHECK_THAT(refused(with(sizes("64", "64", "mxfp4"), {{"group", "64"}})), ContainsSubstring("leave it out"));
  CHECK_THAT(refused(with(sizes("64", "64", "s4"), {{"scale", "ue8m0"}})), ContainsSubstring("bf16 or f32"));
  // No kernel of scaled_gemm reads these.
  const auto with_scale = [&](const char* activations, const char* scale) {
    return refused(with(sizes("64", "64", "s4", activations), {{"scale", scale}}));
  };
  for (const char* activations : {"bf16", "e4m3", "s8"}) {
    CHECK_THAT(with_scale(activations, "f16"), ContainsSubstring("bf16 or f32"));
    CHECK(with_scale(activations, "bf16") == "it was accepted");
  }
  CHECK_THAT(with_scale("f16", "bf16"), ContainsSubstring("f16 or f32"));
  for (const char* activations : {"e4m3", "s8"})
    CHECK_THAT(refused(with(sizes("64", "64", "s4", activations), {{"group", "16"}})),
               ContainsSubstring("32 elements"));
  CHECK_THAT(refused(with(sizes("64", "63", "s4"), {{"pitch", "63"}})), ContainsSubstring("pitch"));
  CHECK_THAT(refused(with(sizes("1000000000", "1000000", "s4"), {})), ContainsSubstring("2^30"));
}

TEST_CASE("shuffle_weights: misaligned tensors are refused before anything is launched") {
  test::check_misaligned("shuffle_weights", "sm_80", with(sizes("64", "128", "u4"), {{"scale", "f32"}}),
                         {"x", "zero"});
}

}  // namespace ptxloom::shuffle_weights_test
