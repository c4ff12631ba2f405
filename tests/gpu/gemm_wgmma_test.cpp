// SPDX-License-Identifier: Apache-2.0
// Strategy wgmma on a GPU that has it: shapes that are not multiples of a tile, in several configurations
// each, every element compared; no spills and no serialised wgmma in the linked kernels.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "ptxloom/gemm.hpp"
#include "support/check_gemm.hpp"
#include "support/gpu.hpp"
#include "support/settings.hpp"
#include "support/wgmma_types.hpp"

using namespace ptxloom;
using test::words;

namespace {

Context require_wgmma(const TemporaryFolder& folder) {
  const Context context = require_gpu(folder);
  if (context.target().name() != "sm_90a") SKIP("wgmma is sm_90a's, and this is " << context.target().name());
  return context;
}

/// Default configurations must not spill; of all possible ones hardly any does.
void check(const Context& context, const Settings& problem, const Settings& config, bool chosen = true) {
  INFO(words(problem) << "| " << words(config) << "| seed " << Catch::getSeed());
  try {
    const RunResult result =
        run_template(context, gemm_template(),
                     {.problem = problem, .config = config, .inputs = {}, .seed = Catch::getSeed()});
    test::check_gemm(problem, result);
    REQUIRE(result.kernel.kernels.front().resources());
    if (chosen) CHECK(result.kernel.kernels.front().resources()->spill_stores == 0);
    for (const Diagnostic& remark : result.kernel.kernels.front().diagnostics()) FAIL_CHECK(remark.message);
  } catch (const Error& error) {
    FAIL_CHECK(error.what());
  }
}

}  // namespace

TEST_CASE("wgmma on the GPU computes D for random shapes in random configurations", "[gpu][wgmma]") {
  const TemporaryFolder folder;
  const Context context = require_wgmma(folder);
  std::mt19937 random(Catch::getSeed());
  const auto pick = [&](std::initializer_list<const char*> list) {
    return std::string(*(list.begin() + random() % list.size()));
  };
  for (int i = 0; i < 40; ++i) {
    const auto size = [&](unsigned most) { return std::to_string(1 + random() % most); };
    const unsigned most = i % 4 == 0 ? 100 : 700;
    const Settings problem{{"m", size(most)},
                           {"n", size(most)},
                           {"k", size(700)},
                           {"a", pick({"f16", "bf16"})},
                           {"d", pick({"f32", "f16", "bf16"})},
                           {"a_layout", pick({"row", "col"})},
                           {"b_layout", pick({"row", "col"})},
                           {"lda", pick({"704", "712"})},
                           {"ldb", pick({"704", "720"})},
                           {"ldd", pick({"0", "704", "701"})},
                           {"beta", pick({"0", "0", "1.5"})}};
    const auto found = gemm_template().candidates(context.specs(), context.target(),
                                                  gemm_template().problem(problem), {{"strategy", "wgmma"}});
    REQUIRE(!found.empty());
    for (int j = 0; j < 5; ++j) check(context, problem, found[j == 0 ? 0 : random() % found.size()], j == 0);
  }
}

TEST_CASE("wgmma on the GPU computes D of every other type", "[gpu][wgmma]") {
  const TemporaryFolder folder;
  const Context context = require_wgmma(folder);
  std::mt19937 random(Catch::getSeed());
  for (const test::WgmmaTypes& types : test::kWgmmaTypes)
    for (int i = 0; i < 3; ++i) {
      const auto size = [&](unsigned most) { return std::to_string(1 + random() % most); };
      const Settings problem{{"m", size(500)},
                             {"n", size(500)},
                             {"k", size(500)},
                             {"a", types.a},
                             {"b", types.b},
                             {"d", types.d[random() % types.d.size()]},
                             {"lda", "512"},
                             {"ldb", "528"},
                             {"ldd", i == 0 ? "501" : "504"},
                             {"alpha", "-3"},
                             {"beta", i == 2 ? "2" : "0"},
                             {"sums", i == 1 && types.a[0] == 'e' ? "promoted" : "plain"}};
      const auto found = gemm_template().candidates(
          context.specs(), context.target(), gemm_template().problem(problem), {{"strategy", "wgmma"}});
      REQUIRE(!found.empty());
      for (int j = 0; j < 3; ++j)
        check(context, problem, found[j == 0 ? 0 : random() % found.size()], j == 0);
    }
}

TEST_CASE("wgmma on the GPU with enough tiles to keep every thread block busy", "[gpu][wgmma]") {
  const TemporaryFolder folder;
  const Context context = require_wgmma(folder);
  for (const char* n : {"128", "192", "256"})
    check(context, {{"m", "4096"}, {"n", "2056"}, {"k", "520"}, {"a", "bf16"}, {"d", "bf16"}},
          {{"strategy", "wgmma"}, {"tile_m", "128"}, {"tile_n", n}, {"warps_m", "8"}});
}

TEST_CASE("wgmma stream-K on the GPU computes D", "[gpu][wgmma]") {
  const TemporaryFolder folder;
  const Context context = require_wgmma(folder);
  std::mt19937 random(Catch::getSeed());
  const auto pick = [&](std::initializer_list<const char*> list) {
    return std::string(*(list.begin() + random() % list.size()));
  };
  for (int i = 0; i < 6; ++i) {
    const auto size = [&](unsigned most) { return std::to_string(1 + random() % most); };
    const bool deep = i % 2 == 0;
    const Settings problem{{"m", size(deep ? 100 : 700)},
                           {"n", size(deep ? 200 : 700)},
                           {"k", size(deep ? 20000 : 1000)},
                           {"a", pick({"bf16", "f16", "tf32", "e4m3", "s8"})},
                           {"lda", "20032"},
                           {"ldb", pick({"20032", "20048", "20031"})},
                           {"batch", pick({"1", "1", "2"})},
                           {"alpha", "-3"},
                           {"beta", pick({"0", "0", "2"})}};
    const auto found =
        gemm_template().candidates(context.specs(), context.target(), gemm_template().problem(problem),
                                   {{"strategy", "wgmma"}, {"stream_k", "yes"}});
    REQUIRE(!found.empty());
    for (int j = 0; j < 5; ++j) check(context, problem, found[j == 0 ? 0 : random() % found.size()], j == 0);
  }
  // One tile for all thread blocks, and more than two waves of tiles.
  check(context, test::with(test::shape(64, 64, 65536), {{"a", "bf16"}}), {{"stream_k", "yes"}});
  check(context, test::with(test::shape(4096, 2056, 520), {{"a", "bf16"}, {"d", "bf16"}}),
        {{"stream_k", "yes"}, {"tile_m", "128"}, {"tile_n", "128"}});
}

TEST_CASE("wgmma on the GPU with swap", "[gpu][wgmma]") {
  const TemporaryFolder folder;
  const Context context = require_wgmma(folder);
  std::mt19937 random(Catch::getSeed());
  const auto pick = [&](std::initializer_list<const char*> list) {
    return std::string(*(list.begin() + random() % list.size()));
  };
  const Settings functions[] = {
      {},
      {{"beta", "1.5"}, {"batch", "3"}},
      {{"bias", "f32"}, {"scale_a", "row"}, {"scale_b", "col"}, {"activation", "silu"}, {"d", "e4m3"}}};
  for (int i = 0; i < 18; ++i) {
    const auto size = [&](unsigned most) { return std::to_string(1 + random() % most); };
    Settings problem{{"m", size(64)},
                     {"n", size(2000)},
                     {"k", size(700)},
                     {"a", pick({"bf16", "f16", "tf32", "e4m3", "e5m2"})},
                     {"d", pick({"f32", "bf16"})},
                     {"ldd", pick({"0", "2000", "2001"})}};
    const Settings transposed{{"a_layout", pick({"row", "col"})}, {"b_layout", pick({"row", "col"})}};
    problem = i % 9 == 8 ? test::with(problem, {{"a", "s8"}, {"b", "u8"}, {"d", "s32"}, {"beta", "-3"}})
                         : test::with(problem, functions[random() % std::size(functions)]);
    if (problem["a"] == "bf16") problem = test::with(problem, transposed);
    const auto found =
        gemm_template().candidates(context.specs(), context.target(), gemm_template().problem(problem),
                                   {{"strategy", "wgmma"}, {"swap", "yes"}});
    REQUIRE(!found.empty());
    for (int j = 0; j < 4; ++j) check(context, problem, found[j == 0 ? 0 : random() % found.size()], j == 0);
  }
  check(context, {{"m", "64"}, {"n", "28672"}, {"k", "520"}, {"a", "bf16"}, {"d", "bf16"}},
        {{"swap", "yes"}, {"tile_m", "64"}, {"tile_n", "32"}});  // enough tiles to keep every thread block
                                                                 // busy
}
