// SPDX-License-Identifier: Apache-2.0
// scaled_gemm with stream-K in the executor: tiles that several thread blocks share, and thread blocks that
// have parts of several tiles, with all that epilogues do.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "scaled_gemm/weight_case.hpp"

namespace ptxloom::scaled_gemm_test::stream_k {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::shape;
using test::with;

Settings formats(const char* a, const char* b) { return {{"format_a", a}, {"format_b", b}, {"d", "f32"}}; }

Settings tiles(const char* m, const char* n, const char* k, const char* warps, const char* stages) {
  return {{"tile_m", m},      {"tile_n", n},       {"tile_k", k},  {"warps_n", warps},
          {"stages", stages}, {"stream_k", "yes"}, {"split", "1"}, {"share", "1"}};
}

void run(const Settings& given, const Settings& config) {
  const Settings problem = scaled_gemm().problem(given);
  INFO("problem " << test::words(problem) << ", config " << test::words(config));
  const RunResult result = run_template(
      executor_of("sm_90a"), scaled_gemm(),
      {.problem = problem, .config = config, .inputs = scaled_gemm().inputs(problem, Catch::getSeed())});
  CHECK(result.verdict.first.empty());
  REQUIRE(result.verdict.ok());
}

}  // namespace

TEST_CASE("scaled_gemm, stream-K: tiles that thread blocks share, for all types") {
  for (const Settings& formats :
       {formats("bf16", "s4"), formats("f16", "u4"), formats("bf16", "mxfp4"), formats("bf16", "nvfp4"),
        formats("e4m3", "s4"), formats("e4m3", "mxfp4"), formats("s8", "s4")}) {
    Case one(with(shape(21, 131, 2100), formats));
    one.run(tiles("24", "64", "64", "4", "3"));
    one.run(tiles("16", "128", "128", "4", "4"));
    one.run(tiles("32", "128", "64", "8", "3"));
  }
}

TEST_CASE("scaled_gemm, stream-K: more tiles than thread blocks, and few k-blocks for each") {
  Case(with(shape(70, 330, 300), formats("bf16", "s4"))).run(tiles("8", "64", "64", "4", "3"));
  Case(with(shape(9, 64, 64), formats("bf16", "mxfp4"))).run(tiles("16", "64", "64", "4", "2"));
}

TEST_CASE("scaled_gemm, stream-K: epilogues, batches, and whole tiles that TMA stores") {
  const Settings base = with(shape(40, 144, 1500), {{"format_a", "bf16"}, {"format_b", "s4"}});
  const Settings config = tiles("32", "64", "128", "4", "3");
  run(with(base, {{"swiglu", "yes"}, {"bias", "f32"}, {"row_weights", "yes"}}), config);
  run(with(base, {{"bias", "bf16"}, {"c", "f16"}, {"d", "f16"}, {"ldd", "150"}}), config);
  run(with(base, {{"batch", "3"}, {"scale_b", "f32"}}), config);
  run(with(base, {{"format_b", "nvfp4"}, {"batch", "2"}}), config);
  run(with(base, {{"k", "5000"}, {"n", "1152"}}), tiles("64", "128", "128", "8", "3"));
}

TEST_CASE("scaled_gemm, stream-K: the cost model chooses it for few tiles and a deep k") {
  const Specs specs;
  const auto chosen = [&](const Settings& sizes) {
    return scaled_gemm()
        .config(specs, Target("sm_90a"), scaled_gemm().problem(with(sizes, formats("bf16", "s4"))), {})
        .at("stream_k");
  };
  CHECK(chosen(shape(16, 512, 16384)) == "yes");
  CHECK(chosen(shape(64, 8192, 8192)) == "no");  // clusters that divide k have been timed there
  CHECK(chosen(shape(4096, 4096, 4096)) == "no");
}

TEST_CASE("scaled_gemm, stream-K: what it does not go with is refused") {
  const Specs specs;
  const auto refused = [&](const Settings& more, const Settings& config, const char* target = "sm_90a") {
    const Settings problem =
        scaled_gemm().problem(with(with(shape(64, 256, 4096), formats("bf16", "s4")), more));
    return refusal(
        [&] { scaled_gemm().config(specs, Target(target), problem, with(config, {{"stream_k", "yes"}})); });
  };
  CHECK(refused({}, {}) == "it was accepted");
  CHECK_THAT(refused({}, {{"split", "2"}}), ContainsSubstring("split=1"));
  CHECK_THAT(refused({{"groups", "masked"}}, {}), ContainsSubstring("without groups"));
  CHECK_THAT(refused({{"m", "8192"}, {"n", "8192"}}, {{"tile_m", "64"}, {"tile_n", "64"}}),
             ContainsSubstring("SMs"));
  CHECK_THAT(refused({}, {}, "sm_80"), ContainsSubstring("stream_k=no"));
}

}  // namespace ptxloom::scaled_gemm_test::stream_k
