// SPDX-License-Identifier: Apache-2.0
// quantize, dequantize, rowwise, scaled_gemm, shuffle_weights and sparse_gemm on a real GPU: random problems,
// small enough that their references compute every element, which is compared.
#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <vector>

#include "ptxloom/kit/scaled_format.hpp"
#include "ptxloom/kit/weight_layout.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/templates.hpp"
#include "support/gpu.hpp"
#include "support/settings.hpp"
#include "support/temporary_folder.hpp"

namespace ptxloom::test::templates_test {
namespace {

class Draw {
 public:
  Draw() : random_(Catch::getSeed()) {}
  std::string number(std::uint32_t least, std::uint32_t most, std::uint32_t unit = 1) {
    return std::to_string((least + random_() % (most - least + 1)) / unit * unit);
  }
  std::string of(const std::vector<std::string>& values) { return values[random_() % values.size()]; }
  std::uint64_t seed() { return random_(); }

 private:
  std::mt19937 random_;
};

/// Runs a problem, and compares `elements` elements of the outputs or more.
void run(const Context& context, const char* name, const Settings& problem, std::uint64_t elements,
         std::uint64_t seed, const Settings& config = {}) {
  static const Templates all;
  const RunResult result =
      run_template(context, all.find(name), {.problem = problem, .config = config, .seed = seed});
  INFO(name << ' ' << words(result.kernel.problem) << ", config " << words(result.kernel.config) << ", seed "
            << seed);
  CHECK(result.verdict.first.empty());
  CHECK(result.verdict.ok());
  CHECK(result.verdict.checked >= elements);
}

std::uint64_t size(const Settings& problem, const char* name) { return std::stoull(problem.at(name)); }

const std::vector<std::string> kFloats{"f32", "f16", "bf16"};
const std::vector<std::string> kPlain{"s8", "s4", "e4m3", "e5m2"};
const std::vector<std::string> kBlocked{"mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3",
                                        "mxfp6_e3m2", "mxfp4",      "nvfp4"};

/// Rows of odd lengths, in all formats, whose scales are drawn where there is a choice.
std::vector<Settings> narrow_problems(Draw& draw, const char* numbers) {
  std::vector<Settings> all;
  for (const auto& formats : {kPlain, kBlocked})
    for (const std::string& format : formats) {
      Settings problem{{"rows", draw.number(1, 300)},
                       {"n", draw.number(16, 2000, 16)},
                       {"format", format},
                       {numbers, draw.of(kFloats)}};
      if (formats == kPlain) {
        problem["scales"] = draw.of({"tensor", "row", "group", "block"});
        problem["n"] = draw.number(2, 2000, format == "s4" ? 2 : 1);
      }
      all.push_back(problem);
    }
  return all;
}

/// The formats of weights that scaled_gemm multiplies by these activations.
std::vector<std::string> weights_beside(Type activations) {
  std::vector<std::string> found;
  for (const auto& formats : {kPlain, kBlocked, std::vector<std::string>{"u4"}})
    for (const std::string& format : formats) {
      const kit::ScaledFormat* const scaled = kit::find_scaled_format(format);
      if (kit::WeightLayout::has(scaled == nullptr ? u4 : scaled->element, activations))
        found.push_back(format);
    }
  return found;
}

}  // namespace

TEST_CASE("quantize and dequantize are right on the GPU, every element", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  Draw draw;
  for (const auto& [name, numbers] : {std::pair{"quantize", "x"}, std::pair{"dequantize", "y"}})
    for (const Settings& problem : narrow_problems(draw, numbers))
      run(context, name, problem, size(problem, "rows") * size(problem, "n"), draw.seed());
}

TEST_CASE("rowwise is right on the GPU, every element", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  Draw draw;
  for (const std::string op : {"softmax", "log_softmax", "rms_norm", "layer_norm"})
    for (const char* most : {"300", "5000"}) {
      Settings problem{{"op", op},
                       {"rows", draw.number(1, 200)},
                       {"n", draw.number(1, static_cast<std::uint32_t>(std::stoi(most)))},
                       {"x", draw.of(kFloats)}};
      if (op.ends_with("norm")) problem["weight"] = draw.of({"none", "f32", "bf16"});
      run(context, "rowwise", problem, size(problem, "rows") * size(problem, "n"), draw.seed());
    }
}

TEST_CASE("scaled_gemm is right on the GPU, every element: all formats of weights beside all activations",
          "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  const int chip = context.target().info().number;
  if (chip < 80) skip_without("sm_80", "the GPU has no mma.sync of bf16");
  Draw draw;
  for (const Type activations : {bf16, f16, e4m3, s8})
    for (const std::string& format : weights_beside(activations)) {
      if (activations == e4m3 && chip < 89) continue;
      Settings problem{{"m", draw.number(1, draw.of({"16", "90"}) == "16" ? 16 : 90)},
                       {"n", draw.number(1, 130)},
                       {"k", draw.number(1, 350)},
                       {"format_a", std::string(activations.name)},
                       {"format_b", format},
                       {"d", draw.of(kFloats)}};
      if (find_type(format)) {  // no MX format or NVFP4
        problem["group"] = draw.of({"32", "128", "row"});
        if (draw.of({"no", "yes"}) == "yes") problem["scale_b"] = "f32";
      }
      const bool one_scale = !problem.contains("group") || problem["group"] == "row";
      if (activations.bits == 8 && one_scale) problem["sums"] = draw.of({"promoted", "plain"});
      std::vector<std::string> strategies{"mma_sync"};
      if (context.target().name() == "sm_90a") strategies.push_back("wgmma");
      for (const std::string& strategy : strategies)
        run(context, "scaled_gemm", problem, size(problem, "m") * size(problem, "n"), draw.seed(),
            {{"strategy", strategy}});
    }
}

TEST_CASE("scaled_gemm is right on the GPU, every element: MX formats and NVFP4 beside each other", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  if (context.target().info().number < 80) skip_without("sm_80", "the GPU has no mma.sync of bf16");
  Draw draw;
  for (const std::string& a : kBlocked)
    for (const std::string& b : {draw.of(kBlocked), draw.of(kBlocked)}) {
      const Settings problem{{"m", draw.number(1, 150)},
                             {"n", draw.number(1, 75)},
                             {"k", draw.number(16, 350, 16)},
                             {"format_a", a},
                             {"format_b", b},
                             {"d", draw.of(kFloats)}};
      run(context, "scaled_gemm", problem, size(problem, "m") * size(problem, "n"), draw.seed());
    }
}

TEST_CASE("scaled_gemm with stream-K is right on the GPU, in samples", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  if (context.target().name() != "sm_90a") skip_without("sm_90a", "stream-K is of strategy wgmma");
  Draw draw;
  for (const auto& [a, b] : {std::pair{"bf16", "s4"},
                             {"bf16", "mxfp4"},
                             {"bf16", "mxfp6_e2m3"},
                             {"f16", "mxfp4"},
                             {"e4m3", "s4"},
                             {"e4m3", "nvfp4"},
                             {"s8", "s4"}})
    for (const char* tile : {"16", "64"}) {
      const Settings problem{{"m", draw.number(1, 90)},
                             {"n", draw.number(1, 330)},
                             {"k", draw.number(2000, 5000)},
                             {"format_a", a},
                             {"format_b", b},
                             {"d", draw.of(kFloats)}};
      run(context, "scaled_gemm", problem, 1, draw.seed(), {{"stream_k", "yes"}, {"tile_m", tile}});
    }
}

TEST_CASE("shuffle_weights is right on the GPU, every element", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  Draw draw;
  for (const Type activations : {bf16, f16, e4m3, s8})
    for (const std::string& format : weights_beside(activations)) {
      const Settings problem{{"n", draw.number(1, 300)},
                             {"k", draw.number(1, 700)},
                             {"batch", draw.number(1, 3)},
                             {"format", format},
                             {"activations", std::string(activations.name)}};
      run(context, "shuffle_weights", problem, size(problem, "n") * size(problem, "k") / 2, draw.seed());
    }
}

TEST_CASE("sparse_gemm is right on the GPU, every element", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  const int chip = context.target().info().number;
  if (chip < 80) skip_without("sm_80", "the GPU has no mma.sp");
  Draw draw;
  for (const std::string type : {"f16", "bf16", "tf32", "s8", "e4m3", "e5m2"})
    for (const char* most : {"16", "100"}) {
      if (type.starts_with("e") && chip < 89) continue;
      const Settings problem{{"m", draw.number(1, static_cast<std::uint32_t>(std::stoi(most)))},
                             {"n", draw.number(1, 200)},
                             {"k", draw.number(1, 500)},
                             {"type", type},
                             {"bias", draw.of({"none", "f32", "bf16"})},
                             {"d", draw.of(kFloats)}};
      for (const char* strategy : {"wgmma", "mma_sync"}) {
        if (std::string_view(strategy) == "wgmma" && context.target().name() != "sm_90a") continue;
        run(context, "sparse_gemm", problem, size(problem, "m") * size(problem, "n"), draw.seed(),
            {{"strategy", strategy}});
      }
    }
}

}  // namespace ptxloom::test::templates_test
