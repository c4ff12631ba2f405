// SPDX-License-Identifier: Apache-2.0
// Strategy wgmma without a producer warp (loads=thread).
#include <catch2/catch_test_macros.hpp>

#include "gemm/executor.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/runner.hpp"
#include "support/settings.hpp"
#include "support/wgmma_types.hpp"

namespace ptxloom::test::inline_load_test {
namespace {

const Settings kInline{{"strategy", "wgmma"}, {"loads", "thread"}};

Settings tiles(const char* m, const char* n, const char* warps_m, const char* warps_n = "1") {
  return {{"tile_m", m}, {"tile_n", n}, {"warps_m", warps_m}, {"warps_n", warps_n}};
}

const Settings kSmall = tiles("128", "48", "8");

void check(const Settings& problem, const Settings& config) {
  const RunResult result = run_gemm(problem, with(kInline, config));
  const Settings& made = result.kernel.config;
  const unsigned warps = static_cast<unsigned>(std::stoi(made.at("warps_m")) * std::stoi(made.at("warps_n")));
  CHECK(result.kernel.launches.front().block[0] == 32 * warps);
}

}  // namespace

TEST_CASE("loads=thread loads tiles of every type", "[gemm]") {
  check(with(shape(500, 260, 136), {{"a", "bf16"}, {"d", "bf16"}}), kSmall);
  for (const WgmmaTypes& types : kWgmmaTypes)
    check(with(shape(330, 176, 272), {{"a", types.a}, {"b", types.b}}), kSmall);
}

// Fewer k-blocks than stages, as many, more, and one; thread blocks with several tiles, and with none.
TEST_CASE("loads=thread loads ahead, into the next tile", "[gemm]") {
  for (const char* stages : {"2", "3", "5"})
    for (const char* k : {"8", "64", "200", "328"})
      check(with(shape(300, 180, 8), {{"k", k}, {"a", "f16"}}),
            with(tiles("64", "48", "4"), {{"stages", stages}}));
}

TEST_CASE("loads=thread works with one warpgroup and with two", "[gemm][slow]") {
  for (const Settings& one : {tiles("64", "64", "4"), tiles("64", "160", "4", "2"), tiles("128", "40", "4"),
                              tiles("256", "192", "8")})
    for (const char* epilogue : {"staged", "direct"})
      for (const char* bake : {"none", "mnk"})
        check(with(shape(529, 280, 200), {{"a", "bf16"}, {"d", "bf16"}, {"bias", "f32"}, {"beta", "0.5"}}),
              with(one, {{"epilogue", epilogue}, {"static", bake}, {"tile_k", "32"}}));
}

TEST_CASE("loads=thread with promoted accumulators and block scales", "[gemm][slow]") {
  for (const char* stages : {"2", "3"}) {
    const Settings few{{"stages", stages}, {"tile_k", "64"}};
    const Settings problem = with(shape(385, 400, 272), {{"a", "e4m3"}});
    check(with(problem, {{"sums", "promoted"}}), with(tiles("128", "192", "8"), few));
    check(with(problem, {{"scale_a", "block"}, {"scale_b", "block"}}), with(tiles("128", "64", "8"), few));
    check(with(problem, {{"scale_a", "block"}, {"scale_b", "col"}}), with(tiles("128", "160", "8"), few));
    check(with(problem, {{"scale_b", "block"}}), with(tiles("64", "128", "4", "2"), few));
  }
}

TEST_CASE("loads=thread with packed rows, batches and swap", "[gemm]") {
  check(with(shape(400, 251, 131), {{"a", "bf16"}}), with(kSmall, {{"static", "mnk"}}));
  for (const char* stride_b : {"0", "40000"})
    check(with(shape(200, 150, 136), {{"a", "bf16"}, {"batch", "5"}, {"stride_b", stride_b}, {"beta", "1"}}),
          kSmall);
  check(with(shape(40, 700, 264), {{"a", "bf16"}, {"bias", "f32"}}),
        with(tiles("128", "24", "8"), {{"swap", "yes"}, {"stages", "3"}}));
  for (const char* layout : {"row", "col"})
    check(with(shape(400, 248, 136), {{"a", "f16"}, {"a_layout", layout}, {"b_layout", layout}}), kSmall);
}

TEST_CASE("loads=thread with multicast", "[gemm][slow]") {
  for (const char* shared : {"a", "b"})
    for (const char* stages : {"2", "3"})
      for (const char* k : {"64", "200", "328"})
        check(with(shape(400, 250, 8), {{"k", k}, {"a", "bf16"}}),
              with(tiles("128", "64", "8"), {{"multicast", shared}, {"stages", stages}, {"tile_k", "64"}}));
}

TEST_CASE("loads=thread is chosen where only it has enough registers, and refused with a reason elsewhere",
          "[gemm]") {
  const auto loads = [](const Settings& problem, const Settings& config) {
    return gemm_template()
        .config(executor().specs(), Target("sm_90a"), gemm_template().problem(problem), config)
        .at("loads");
  };
  const Settings problem = with(shape(4096, 4096, 4096), {{"a", "e4m3"}});
  CHECK(loads(problem, tiles("256", "128", "8")) == "warp");
  CHECK(loads(problem, tiles("256", "192", "8")) == "thread");
  CHECK(loads(with(problem, {{"sums", "promoted"}}), tiles("128", "160", "8")) == "thread");
  const auto says = [](const std::string& text, const char* part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  says(config_refusal(problem, with(tiles("256", "192", "8"), {{"strategy", "wgmma"}, {"loads", "warp"}})),
       "too few registers for two consumer warpgroups and the producer");
  says(config_refusal(problem, with(kInline, {{"schedule", "pingpong"}})),
       "with loads=thread schedule must be cooperative");
  says(config_refusal(problem, with(kInline, {{"split", "2"}, {"stream_k", "no"}})),
       "with loads=thread split must be 1");
  says(config_refusal(problem, with(kInline, {{"split", "1"}, {"stream_k", "yes"}})), "stream_k no");
  says(config_refusal(with(problem, {{"groups", "masked"}, {"batch", "2"}}), kInline), "loads=warp");
  says(config_refusal(problem, {{"loads", "thread"}, {"strategy", "mma"}}), "loads must be warp");
}

}  // namespace ptxloom::test::inline_load_test
