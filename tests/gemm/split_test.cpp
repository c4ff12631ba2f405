// SPDX-License-Identifier: Apache-2.0
// k split among the thread blocks of a cluster, in the CPU executor with judging, compared with the
// reference; and refusals.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "gemm/executor.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/runner.hpp"
#include "support/settings.hpp"

namespace ptxloom::test::split_test {
namespace {

RunResult run(const Settings& problem, const Settings& config) {
  RunResult result = run_gemm(problem, config);
  CHECK(result.kernel.launches.front().cluster[0] == static_cast<unsigned>(std::stoi(config.at("split"))));
  CHECK(result.kernel.launches.front().grid[0] % result.kernel.launches.front().cluster[0] == 0);
  return result;
}

std::string refusal(const Settings& config, const char* k = "512", const char* target = "sm_90a",
                    const char* size = "64") {
  return config_refusal({{"m", size}, {"n", size}, {"k", k}}, config, target);
}

}  // namespace

TEST_CASE("k is split among 2, 4 and 8 thread blocks, in every layout, with uneven parts", "[gemm]") {
  for (const char* strategy : {"mma", "wgmma"})
    for (const char* split : {"2", "4", "8"})
      for (const char* a_layout : {"row", "col"})
        for (const char* b_layout : {"row", "col"})
          run({{"m", "72"},
               {"n", "40"},
               {"k", "712"},  // 12 tiles of 64, the last one partial
               {"a_layout", a_layout},
               {"b_layout", b_layout}},
              {{"strategy", strategy}, {"split", split}, {"tile_k", "64"}});
}

TEST_CASE("k is split for every type, staged and direct, with C", "[gemm]") {
  struct Types {
    const char *strategy, *a, *d;
  };
  const Types all[] = {{"mma", "f16", "f16"},    {"mma", "tf32", "f32"},   {"mma", "f64", "f64"},
                       {"mma", "s8", "s32"},     {"mma", "e4m3", "bf16"},  {"wgmma", "bf16", "f32"},
                       {"wgmma", "f16", "bf16"}, {"wgmma", "tf32", "f16"}, {"wgmma", "s8", "s32"},
                       {"wgmma", "e5m2", "f32"}};
  for (const Types& types : all)
    for (const char* epilogue : {"staged", "direct"}) {
      if (types.strategy == std::string("mma") && epilogue == std::string("staged") &&
          find_type(types.d)->bits != 16)
        continue;
      run({{"m", "72"},
           {"n", "40"},
           {"k", "784"},
           {"a", types.a},
           {"d", types.d},
           {"beta", "3"},
           {"alpha", "2"}},
          {{"strategy", types.strategy}, {"split", "4"}, {"epilogue", epilogue}});
    }
}

TEST_CASE("operands that TMA cannot load directly are split along k too", "[gemm]") {
  for (const char* a : {"bf16", "s8"})
    run({{"m", "33"}, {"n", "71"}, {"k", "1037"}, {"a", a}}, {{"strategy", "mma"}, {"split", "8"}});
}

TEST_CASE("few tiles and a deep k are split by default unless stream-K is used", "[gemm]") {
  const auto split = [](const char* m, const char* n, const char* k, const char* target) {
    const Settings problem = gemm_template().problem({{"m", m}, {"n", n}, {"k", k}});
    return gemm_template()
        .config(executor().specs(), Target(target), problem, {{"stream_k", "no"}})
        .at("split");
  };
  CHECK(split("256", "256", "65536", "sm_90a") == "8");
  CHECK(split("4096", "4096", "4096", "sm_90a") == "1");
  CHECK(split("256", "256", "65536", "sm_80") == "1");
  CHECK(split("64", "64", "16", "sm_90a") == "1");
}

TEST_CASE("the accumulators of a split k are added in the same order each time", "[gemm]") {
  const Settings problem{{"m", "64"}, {"n", "72"}, {"k", "2048"}}, config{{"split", "8"}};
  const RunResult once = run(problem, config), again = run(problem, config);
  CHECK(once.tensors.back().bytes == again.tensors.back().bytes);
}

TEST_CASE("an impossible split is refused with the reason", "[gemm]") {
  CHECK(refusal({{"split", "2"}}, "512", "sm_80").find("cluster") != std::string::npos);
  CHECK(refusal({{"split", "8"}, {"tile_k", "64"}}, "192").find("fewer k-blocks than split") !=
        std::string::npos);
  CHECK(refusal({{"split", "4"}, {"tile_m", "128"}, {"tile_n", "128"}}, "512", "sm_90a", "8192")
            .find("256 thread blocks") != std::string::npos);
  CHECK(refusal({{"split", "3"}}).find("split") != std::string::npos);
}

}  // namespace ptxloom::test::split_test
