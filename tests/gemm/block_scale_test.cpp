// SPDX-License-Identifier: Apache-2.0
// Block scales with both strategies, in the CPU executor, compared with the reference: factors of very
// different magnitudes, sizes that end inside a scale block, and unsupported options.
#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "gemm/executor.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/runner.hpp"
#include "support/errors.hpp"
#include "support/settings.hpp"

namespace ptxloom::test::block_scale_test {
namespace {

const Settings kBlocks{{"scale_a", "block"}, {"scale_b", "block"}};

/// Random inputs with scales from 2^-8 to 2^8, so that using a wrong factor is obvious.
std::vector<HostTensor> inputs_of(const Settings& problem) {
  std::vector<HostTensor> inputs;
  std::mt19937 random(Catch::getSeed());
  for (const TensorPlan& plan : gemm_template().tensors(gemm_template().problem(problem))) {
    if (plan.role != TensorPlan::Role::in) continue;
    HostTensor& tensor = inputs.emplace_back(random_tensor(plan, Catch::getSeed()));
    if (!plan.name.starts_with("scale")) continue;
    for (std::size_t i = 0; i < tensor.bytes.size(); i += sizeof(float)) {
      const float factor =
          std::ldexp(1.0F + static_cast<float>(random() % 1024) / 1024, static_cast<int>(random() % 17) - 8);
      std::memcpy(tensor.bytes.data() + i, &factor, sizeof factor);
    }
  }
  return inputs;
}

RunResult run(const Settings& problem, const Settings& config, const std::string& target = "sm_90a",
              const std::vector<HostTensor>& inputs = {}) {
  RunResult result = run_gemm(problem, config, inputs.empty() ? inputs_of(problem) : inputs, target);
  CHECK(result.verdict.checked > 0);
  for (const auto& [name, value] : config) CHECK(result.kernel.config.at(name) == value);
  return result;
}

constexpr const char* kStrategies[] = {"mma", "wgmma"};

/// Row pitches that are multiples of 16 bytes for every k.
Settings padded(int m, int n, int k) { return with(shape(m, n, k), {{"lda", "400"}, {"ldb", "432"}}); }

std::string refusal(const Settings& problem, const Settings& config) {
  return error_of([&] {
           const Settings whole = gemm_template().problem(with(with(shape(256, 256, 256), kBlocks), problem));
           gemm_template().config(executor().specs(), Target("sm_90a"), whole, config);
         })
      .what();
}

bool says(const std::string& message, std::string_view part) {
  INFO(message);
  return message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("block scales of A and B, with every kind of scale on the other side, for every type",
          "[gemm][slow]") {
  for (const char* strategy : kStrategies)
    for (const char* a : {"e4m3", "e5m2", "bf16", "f16", "tf32"})
      for (const auto& [scale_a, scale_b] : {std::array{"block", "block"},
                                             {"block", "none"},
                                             {"none", "block"},
                                             {"block", "tensor"},
                                             {"block", "col"},
                                             {"tensor", "block"},
                                             {"row", "block"}})
        run(with(padded(70, 150, 300), {{"a", a}, {"scale_a", scale_a}, {"scale_b", scale_b}}),
            {{"strategy", strategy}, {"tile_n", "64"}});
}

TEST_CASE("block scales with sizes that are not multiples of a scale block", "[gemm]") {
  for (const char* strategy : kStrategies)
    for (const auto& [m, n, k] :
         {std::array{1, 1, 1}, {3, 129, 129}, {65, 127, 128}, {130, 131, 257}, {257, 40, 384}})
      run(with(with(padded(m, n, k), kBlocks), {{"a", "e4m3"}, {"b", "e5m2"}, {"ldd", "135"}}),
          {{"strategy", strategy}});
}

TEST_CASE("block scales with tiles of every shape and depth", "[gemm][slow]") {
  const Settings problem = with(with(padded(136, 272, 267), kBlocks), {{"a", "e4m3"}});
  const auto tiles = [](const char* strategy, int m, int n, int k, int warps_m, int warps_n) {
    return Settings{{"strategy", strategy},
                    {"tile_m", std::to_string(m)},
                    {"tile_n", std::to_string(n)},
                    {"tile_k", std::to_string(k)},
                    {"warps_m", std::to_string(warps_m)},
                    {"warps_n", std::to_string(warps_n)}};
  };
  for (const int depth : {32, 64, 128}) {
    run(problem, tiles("wgmma", 128, 128, depth, 8, 1));  // the default for large problems
    run(problem, tiles("wgmma", 128, 64, depth, 4, 1));
    run(problem, tiles("wgmma", 64, 256, depth, 4, 2));
    run(problem, tiles("wgmma", 256, 32, depth, 8, 1));
    if (depth == 32) continue;
    run(problem, tiles("mma", 64, 256, depth, 2, 4));
    run(problem, tiles("mma", 32, 32, depth, 1, 2));
  }
  for (const char* n : {"8", "16"}) run(problem, {{"strategy", "wgmma"}, {"tile_n", n}});
  for (const char* prefetch : {"step", "tile"})
    run(problem, {{"strategy", "mma"}, {"prefetch", prefetch}, {"static", "mnk"}});
  // If only A has block scales, tile_n need not be a multiple of the scale block.
  run(with(problem, {{"scale_b", "col"}}), {{"strategy", "wgmma"}, {"tile_n", "136"}});
  run(with(problem, {{"scale_b", "none"}}), {{"strategy", "wgmma"}, {"tile_n", "40"}});
}

TEST_CASE("block scales arrive with the stages, whatever the alignment of their rows", "[gemm]") {
  const Settings below{{"tile_m", "128"}, {"tile_n", "128"}, {"warps_m", "8"}, {"warps_n", "1"}},
      beside{{"tile_m", "64"}, {"tile_n", "256"}, {"warps_m", "4"}, {"warps_n", "2"}},
      tall{{"tile_m", "256"}, {"tile_n", "64"}, {"warps_m", "8"}, {"warps_n", "1"}};
  for (int i = 0; i < 4; ++i) {  // rows of scale_a have m factors, those of scale_b 1 to 4; thread blocks
                                 // have several tiles
    const Settings problem = with(with(shape(257 + i, 272, 128 * i + 70), kBlocks),
                                  {{"a", "e4m3"}, {"lda", "512"}, {"ldb", "528"}});
    for (const Settings& tiles : {below, beside, tall})
      run(problem,
          with(tiles, {{"strategy", "wgmma"}, {"stages", "3"}, {"static", i % 2 == 0 ? "none" : "mnk"}}));
  }
}

TEST_CASE("block scales when A and B are not contiguous along k", "[gemm]") {
  for (const char* a : {"e4m3", "bf16"})
    for (const auto& [a_layout, b_layout] : {std::array{"row", "row"}, {"col", "row"}, {"col", "col"}}) {
      const Settings problem = with(with(shape(144, 176, 272), kBlocks),
                                    {{"a", a}, {"a_layout", a_layout}, {"b_layout", b_layout}});
      run(problem, {{"strategy", "mma"}});
      if (std::string(a) == "bf16") run(problem, {{"strategy", "wgmma"}});
    }
}

TEST_CASE("block scales with split k, with parts that start inside a scale block", "[gemm]") {
  for (const char* strategy : kStrategies)
    for (const char* split : {"2", "4"})
      for (const char* depth : {"64", "128"})
        run(with(with(shape(72, 144, 1104), kBlocks), {{"a", "e4m3"}}),
            {{"strategy", strategy}, {"split", split}, {"tile_k", depth}});
}

TEST_CASE("block scales with every other part of the epilogue", "[gemm]") {
  for (const char* strategy : kStrategies)
    for (const char* d : {"f32", "bf16", "e4m3"})
      run(with(with(padded(70, 144, 300), kBlocks), {{"a", "e4m3"},
                                                     {"alpha", "0.002"},
                                                     {"beta", "0.5"},
                                                     {"bias", "bf16"},
                                                     {"activation", "silu"},
                                                     {"scale_d", "tensor"},
                                                     {"d", d}}),
          {{"strategy", strategy}});
}

TEST_CASE("every target with floating-point mma has block scales", "[gemm]") {
  for (const auto& [target, a] : {std::array{"sm_75", "f16"},
                                  {"sm_80", "bf16"},
                                  {"sm_89", "e4m3"},
                                  {"sm_90", "e5m2"},
                                  {"sm_120a", "e4m3"}})
    run(with(with(shape(67, 133, 261), kBlocks), {{"a", a}}), {}, target);
}

TEST_CASE("each block scale affects exactly its elements of D", "[gemm]") {
  constexpr std::size_t kM = 40, kN = 272, kK = 272, kBlocksOfK = 3;
  const Settings problem = with(with(shape(kM, kN, kK), kBlocks), {{"a", "f16"}});
  std::vector<HostTensor> inputs = inputs_of(problem);
  std::vector<std::uint16_t> ones(kN * kK, 0x3c00);
  std::vector<float> scale_a(kBlocksOfK * kM), scale_b(3 * kBlocksOfK), d(kM * kN);
  for (std::size_t i = 0; i < scale_a.size(); ++i) scale_a[i] = static_cast<float>(1 + i);
  for (std::size_t i = 0; i < scale_b.size(); ++i) scale_b[i] = static_cast<float>(3 + 7 * i);
  for (HostTensor& tensor : inputs) {
    if (tensor.plan.name == "scale_a") CHECK(tensor.plan.shape == std::vector<std::uint64_t>{kBlocksOfK, kM});
    if (tensor.plan.name == "scale_b") CHECK(tensor.plan.shape == std::vector<std::uint64_t>{3, kBlocksOfK});
    const void* from = tensor.plan.name == "scale_a"   ? static_cast<const void*>(scale_a.data())
                       : tensor.plan.name == "scale_b" ? scale_b.data()
                                                       : static_cast<const void*>(ones.data());
    std::memcpy(tensor.bytes.data(), from, tensor.bytes.size());
  }
  for (const char* strategy : kStrategies) {
    const RunResult result = run(problem, {{"strategy", strategy}}, "sm_90a", inputs);
    for (const HostTensor& tensor : result.tensors)
      if (tensor.plan.name == "d") std::memcpy(d.data(), tensor.bytes.data(), tensor.bytes.size());
    for (const auto& [row, column] : {std::pair{0U, 0U}, {7U, 127U}, {8U, 128U}, {39U, 271U}}) {
      float wanted = 0;  // all are integers, and small
      for (std::size_t block = 0; block < kBlocksOfK; ++block)
        wanted += (block < 2 ? 128.0F : 16.0F) * scale_a[block * kM + row] *
                  scale_b[column / 128 * kBlocksOfK + block];
      CHECK(d[row * kN + column] == wanted);
    }
  }
}

TEST_CASE("options that block scales do not support are refused", "[gemm]") {
  CHECK(says(refusal({{"a", "s8"}, {"d", "f32"}}, {}), "block scales cannot be used with a=s8"));
  CHECK(says(refusal({{"a", "f64"}}, {}), "cannot be used with d=f64"));
  CHECK(says(refusal({{"a", "e4m3"}}, {{"tile_n", "96"}, {"warps_n", "1"}, {"strategy", "wgmma"}}),
             "must be in one block of 128"));
  CHECK(says(refusal({{"a", "e4m3"}}, {{"tile_n", "192"}, {"warps_n", "2"}, {"strategy", "mma"}}),
             "must be in one block of 128"));
  CHECK(
      says(refusal({{"a", "e4m3"}}, {{"tile_k", "256"}, {"strategy", "mma"}}), "tile_k must be at most 128"));
  CHECK(says(refusal({{"a", "e4m3"}, {"scale_b", "row"}}, {}), "scale_b"));
  CHECK(says(refusal({{"a", "e4m3"}, {"m", "16777216"}, {"k", "16384"}}, {{"strategy", "wgmma"}}),
             "at most 4 GiB of block scales"));
}

TEST_CASE("GemmProblem has block scales, which a launch must pass", "[gemm]") {
  const GemmProblem problem{
      .m = 64, .n = 64, .k = 200, .a = bf16, .scale_a = GemmScale::block, .scale_b = GemmScale::block};
  const Gemm made = gemm(executor(), problem, {{"strategy", "mma"}});
  CHECK(made.problem().at("scale_a") == "block");
  CHECK(made.problem().at("scale_b") == "block");
  std::vector<std::uint16_t> a(64 * 200), b(64 * 200);
  std::vector<float> d(64 * 64), scale(129);  // may be misaligned unless TMA loads them
  const GemmOperands operands{.a = a.data(), .b = b.data(), .d = d.data(), .scale_a = scale.data() + 1};
  CHECK(error_of([&] { made.launch(nullptr, operands); }).diagnostics().front().message ==
        "operand scale_b is missing");
  GemmOperands overlapping = operands;
  overlapping.scale_b = d.data() + 5;
  CHECK(error_of([&] { made.launch(nullptr, overlapping); }).diagnostics().front().code ==
        "overlapping-operands");
  const Gemm copying = gemm(executor(), problem, {{"strategy", "wgmma"}});
  CHECK(error_of([&] { copying.launch(nullptr, operands); }).diagnostics().front().code ==
        "misaligned-operand");
}

}  // namespace ptxloom::test::block_scale_test
