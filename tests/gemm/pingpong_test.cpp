// SPDX-License-Identifier: Apache-2.0
// Strategy wgmma with schedule=pingpong.
#include <catch2/catch_test_macros.hpp>

#include "gemm/executor.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/runner.hpp"
#include "support/settings.hpp"
#include "support/wgmma_types.hpp"

namespace ptxloom::test::pingpong_test {
namespace {

const Settings kTurns{{"strategy", "wgmma"}, {"schedule", "pingpong"}, {"warps_m", "4"},
                      {"warps_n", "1"},      {"tile_m", "64"},         {"tile_n", "48"}};

void check(const Settings& problem, const Settings& config = {}) {
  const RunResult result = run_gemm(problem, with(kTurns, config));
  CHECK(result.kernel.launches.front().block[0] == 9 * 32);
}

}  // namespace

TEST_CASE("pingpong with every type", "[gemm]") {
  check(with(shape(500, 460, 136), {{"a", "bf16"}, {"d", "bf16"}}));
  for (const WgmmaTypes& types : kWgmmaTypes)
    check(with(shape(330, 336, 144), {{"a", types.a}, {"b", types.b}}), {{"tile_n", "32"}});
}

// The k-blocks of a tile against the pipeline stages: fewer, as many, more, and not a multiple.
TEST_CASE("pingpong warpgroups skip the stages of each other's tiles", "[gemm][slow]") {
  for (const char* stages : {"2", "3", "5"})
    for (const char* k : {"64", "200", "456"})
      check(with(shape(500, 460, 8), {{"k", k}, {"a", "f16"}}), {{"stages", stages}});
}

TEST_CASE("one of two pingpong warpgroups may have fewer tiles, or none", "[gemm]") {
  for (const auto& [m, n] : {std::array{64U, 48U}, {65U, 40U}, {300U, 240U}, {400U, 250U}})
    check(with(shape(m, n, 72), {{"a", "bf16"}}));
}

TEST_CASE("pingpong stores D in every way", "[gemm][slow]") {
  const Settings function{{"a", "bf16"}, {"d", "bf16"}, {"bias", "f32"}, {"beta", "0.5"}};
  for (const char* epilogue : {"staged", "direct"})
    for (const char* multicast : {"none", "a", "b"})
      check(with(shape(273, 520, 72), function), {{"epilogue", epilogue}, {"multicast", multicast}});
  check(with(shape(273, 561, 144), {{"a", "e4m3"}, {"ldd", "563"}}), {{"tile_n", "64"}});
  check(with(shape(300, 301, 200), function), {{"tile_m", "128"}, {"tile_n", "128"}, {"static", "mnk"}});
  check(with(shape(200, 150, 136), with(function, {{"batch", "5"}})));
  check(with(shape(400, 250, 131), {{"a", "bf16"}}), {{"static", "mnk"}});
}

TEST_CASE("pingpong is refused with a reason where it is impossible", "[gemm]") {
  const auto says = [](const std::string& text, const char* part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  const Settings problem = with(shape(300, 300, 256), {{"a", "e4m3"}});
  says(config_refusal(problem, with(kTurns, {{"warps_m", "8"}})), "its own tile");
  says(config_refusal(problem, with(kTurns, {{"split", "2"}})), "with schedule=pingpong split must be 1");
  says(config_refusal(problem, with(kTurns, {{"stream_k", "yes"}})),
       "with schedule=pingpong stream_k must be no");
  says(config_refusal(problem, with(kTurns, {{"tile_m", "128"}, {"tile_n", "144"}})), "128 x 128");
  says(config_refusal(problem, {{"schedule", "pingpong"}, {"strategy", "mma"}}),
       "schedule must be cooperative");
  for (const Settings& word :
       {Settings{{"sums", "promoted"}}, {{"groups", "masked"}}, {{"scale_a", "block"}}})
    says(config_refusal(with(problem, word), kTurns), "need schedule=cooperative");
}

}  // namespace ptxloom::test::pingpong_test
