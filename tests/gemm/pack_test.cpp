// SPDX-License-Identifier: Apache-2.0
// Strategy wgmma with unaligned rows: A and B are packed into the workspace, D is copied row by row.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "gemm/executor.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/runner.hpp"
#include "support/errors.hpp"
#include "support/settings.hpp"
#include "support/wgmma_types.hpp"

namespace ptxloom::test::pack_test {
namespace {

void check(const Settings& problem, const Settings& config, bool packs = true) {
  const RunResult result = run_gemm(problem, with(config, {{"strategy", "wgmma"}}));
  CHECK((result.kernel.launches.front().workspace_bytes > 0) == packs);
}

const Settings kTiles{{"tile_m", "64"}, {"tile_n", "64"}};

}  // namespace

TEST_CASE("unaligned rows of every type", "[gemm]") {
  for (const char* a : {"f16", "bf16"})
    for (const char* d : {"f32", "bf16"})
      for (const int k : {67, 68, 70, 76}) check(with(shape(77, 91, k), {{"a", a}, {"d", d}}), kTiles);
  for (const WgmmaTypes& types : kWgmmaTypes)
    for (const char* d : types.d)
      check(with(shape(77, 91, 131), {{"a", types.a}, {"b", types.b}, {"d", d}}), kTiles);
}

TEST_CASE("unaligned rows in every layout", "[gemm]") {
  for (const char* a_layout : {"row", "col"})
    for (const char* b_layout : {"row", "col"})
      check(with(shape(131, 77, 93), {{"a", "bf16"}, {"a_layout", a_layout}, {"b_layout", b_layout}}),
            kTiles);
}

TEST_CASE("one operand is packed, or both, or none", "[gemm]") {
  const Settings problem = with(shape(70, 72, 66), {{"a", "f16"}, {"d", "f16"}});
  check(with(problem, {{"lda", "72"}}), kTiles);
  check(with(problem, {{"ldb", "80"}}), kTiles);
  check(with(problem, {{"lda", "81"}, {"ldb", "67"}, {"ldd", "77"}}), kTiles);
  check(with(problem, {{"lda", "72"}, {"ldb", "80"}}), kTiles, false);
}

TEST_CASE("matrices of a few bytes are packed", "[gemm]") {
  for (const auto& [m, n, k] : {std::array{1, 1, 1}, {1, 3, 1}, {3, 1, 5}, {1, 1, 9}})
    for (const char* a : {"bf16", "s8", "tf32"}) check(with(shape(m, n, k), {{"a", a}}), kTiles);
}

TEST_CASE("an unaligned D is staged and copied row by row", "[gemm]") {
  const Settings staged{{"epilogue", "staged"}};
  for (const char* d : {"f32", "bf16", "e4m3"})
    for (const int n : {193, 194, 196, 200})
      for (const auto& [tile_n, warps_m, warps_n] :
           {std::array{"32", "4", "1"}, {"128", "8", "1"}, {"192", "4", "2"}}) {
        const Settings one{{"tile_m", "128"}, {"tile_n", tile_n}, {"warps_m", warps_m}, {"warps_n", warps_n}};
        check(with(shape(150, n, 40), {{"a", "bf16"}, {"d", d}, {"beta", "0.5"}}), with(staged, one), false);
      }
}

TEST_CASE("epilogues with packed operands, whose thread blocks wait for each other", "[gemm]") {
  const Settings problem =
      with(shape(65, 67, 333), {{"a", "bf16"}, {"bias", "bf16"}, {"activation", "silu"}});
  check(problem, kTiles);
  check(problem, with(kTiles, {{"stream_k", "yes"}}));
  CHECK(run_gemm(problem, with(kTiles, {{"strategy", "wgmma"}})).kernel.launches.front().cooperative);
  const Error split = error_of([&] { check(problem, with(kTiles, {{"split", "2"}})); });
  CHECK(std::string(split.what()).find("all be resident at once") != std::string::npos);
}

TEST_CASE("random sizes and strides of packed operands", "[gemm][slow]") {
  std::mt19937 random(Catch::getSeed());
  const auto size = [&](unsigned least, unsigned most) {
    return static_cast<int>(least + random() % (most - least + 1));
  };
  for (int i = 0; i < 40; ++i) {
    const int m = size(1, 300), n = size(1, 300), k = size(1, 300);
    const char* types[] = {"f16", "bf16", "tf32", "e4m3", "u8"};
    const Settings problem =
        with(shape(m, n, k), {{"a", types[random() % 5]},
                              {"lda", std::to_string(2 * size(k / 2 + 1, k / 2 + 9) + 1)},
                              {"ldb", std::to_string(size(k, k + 9))},
                              {"ldd", std::to_string(size(n, n + 9))}});
    check(problem, {});
  }
}

TEST_CASE("a workspace serves one launch after another", "[gemm]") {
  check_launched_again(gemm(executor(), {.m = 65, .n = 33, .k = 51, .a = bf16}, {{"strategy", "wgmma"}}));
}

}  // namespace ptxloom::test::pack_test
