// SPDX-License-Identifier: Apache-2.0
// Strategy wgmma with thread blocks that load shared tiles for each other.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include "gemm/executor.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/runner.hpp"
#include "support/settings.hpp"
#include "support/wgmma_types.hpp"

namespace ptxloom::test::multicast_test {
namespace {

constexpr const char* kShared[] = {"a", "b"};

void check(const Settings& problem, const Settings& config) {
  const RunResult result = run_gemm(problem, config);
  CHECK(result.kernel.launches.front().cluster[0] == 2);
  CHECK(result.kernel.launches.front().grid[0] % 2 == 0);
  CHECK(result.kernel.kernels.front().ptx().find(".multicast::cluster") != std::string::npos);
}

Settings tiles(const char* m, const char* n, const char* multicast) {
  return {{"tile_m", m}, {"tile_n", n}, {"multicast", multicast}};
}

}  // namespace

TEST_CASE("thread blocks share tiles of every type", "[gemm][slow]") {
  for (const char* shared : kShared) {
    check(with(shape(200, 150, 136), {{"a", "bf16"}, {"d", "bf16"}}), tiles("64", "64", shared));
    for (const WgmmaTypes& types : kWgmmaTypes)
      check(with(shape(200, 150, 272), {{"a", types.a}, {"b", types.b}}), tiles("64", "64", shared));
  }
}

TEST_CASE("thread blocks share tiles in every layout, with tiles of every kind", "[gemm][slow]") {
  for (const char* shared : kShared)
    for (const char* a_layout : {"row", "col"})
      for (const char* b_layout : {"row", "col"})
        for (const auto& [m, n] : {std::array{"128", "96"}, {"64", "160"}})
          check(with(shape(328, 336, 72), {{"a", "f16"}, {"a_layout", a_layout}, {"b_layout", b_layout}}),
                tiles(m, n, shared));
}

TEST_CASE("one of two thread blocks may have nothing to compute", "[gemm]") {
  for (const char* shared : kShared)
    for (const char* epilogue : {"staged", "direct"}) {
      const Settings function{{"a", "bf16"}, {"d", "bf16"}, {"bias", "f32"}, {"beta", "0.5"}};
      check(with(shape(129, 161, 200), function), with(tiles("64", "32", shared), {{"epilogue", epilogue}}));
    }
}

TEST_CASE("multicast with packed rows, promoted accumulators and block scales", "[gemm]") {
  for (const char* shared : kShared) {
    check(with(shape(200, 150, 131), {{"a", "bf16"}}), tiles("64", "64", shared));
    check(with(shape(200, 144, 272), {{"a", "e4m3"}, {"sums", "promoted"}}), tiles("64", "64", shared));
    check(with(shape(200, 144, 272), {{"a", "e4m3"}, {"scale_a", "block"}, {"scale_b", "block"}}),
          tiles("64", "64", shared));
  }
}

TEST_CASE("multicast with more tiles than thread blocks", "[gemm]") {
  for (const char* shared : kShared)
    check(with(shape(700, 600, 72), {{"a", "bf16"}}), with(tiles("64", "64", shared), {{"stages", "3"}}));
}

TEST_CASE("multicast is refused with a reason where it is impossible", "[gemm]") {
  const auto says = [](const std::string& text, const char* part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  const Settings whole{{"strategy", "wgmma"}, {"tile_k", "64"}, {"warps_m", "4"},      {"warps_n", "1"},
                       {"stages", "3"},       {"split", "1"},   {"epilogue", "staged"}};
  const Settings problem = with(shape(64, 64, 256), {{"a", "bf16"}});
  says(config_refusal(problem, with(whole, tiles("64", "32", "b"))), "at least two tiles along n");
  says(config_refusal(problem, with(whole, tiles("64", "64", "a"))), "at least two tiles along n");
  says(config_refusal(problem, with(with(whole, tiles("64", "32", "a")), {{"split", "2"}})),
       "with multicast split must be 1");
  says(config_refusal(with(problem, {{"m", "200"}}), with(whole, tiles("64", "40", "b"))),
       "multiple of 8 rows of a box");
}

}  // namespace ptxloom::test::multicast_test
