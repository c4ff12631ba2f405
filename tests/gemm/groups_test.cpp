// SPDX-License-Identifier: Apache-2.0
// Groups: the products of a batch have numbers of rows, or matrices of B, that only the device knows.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "gemm/batches.hpp"

namespace ptxloom::test::batch_test {

TEST_CASE("masked groups compute their first rows and no others", "[gemm]") {
  const Settings problem = with(shape(150, 80, 64), {{"a", "bf16"}, {"batch", "9"}, {"groups", "masked"}});
  const std::vector<std::int32_t> rows{0, 1, 63, 64, 65, 150, 151, -1, 149};
  for (const Settings& more :
       {Settings{}, Settings{{"d", "bf16"}, {"beta", "0.5"}}, Settings{{"n", "77"}, {"d", "f16"}},
        Settings{{"bias", "f32"}, {"scale_a", "row"}, {"activation", "relu"}}, Settings{{"stride_b", "0"}},
        Settings{{"k", "67"}}, Settings{{"scale_a", "block"}, {"scale_b", "block"}, {"k", "200"}}}) {
    const Settings whole = with(problem, more);
    const HostTensor group_rows = numbers(whole, "group_rows", rows);
    for (const char* strategy : kStrategies)
      for (const char* epilogue : {"direct", "staged"}) {
        const bool staged = epilogue == std::string("staged");
        const std::string d = gemm_template().problem(whole).at("d");
        if (staged && strategy == std::string("mma") && d == "f32") continue;
        const RunResult result = run(whole, with(tiles(strategy), {{"epilogue", epilogue}}), {group_rows});
        CHECK(result.verdict.checked == std::stoul(whole.at("n")) * (0 + 1 + 63 + 64 + 65 + 150 + 150 + 149));
      }
  }
  // A single group, too; and with k split among thread blocks.
  const Settings one = with(problem, {{"batch", "1"}});
  for (const char* strategy : kStrategies)
    for (const std::int32_t some : {0, 37, 150}) {
      const RunResult result = run(one, tiles(strategy), {numbers(one, "group_rows", {some})});
      CHECK(result.verdict.checked == 80 * static_cast<std::uint64_t>(some));
      const Settings deep = with(problem, {{"batch", "2"}, {"k", "520"}});
      run(deep, with(tiles(strategy), {{"split", "2"}}), {numbers(deep, "group_rows", {some, 20})});
    }
}

TEST_CASE("boxes after a masked group's rows are skipped, and do not disturb stored ones", "[gemm]") {
  const Settings problem = with(shape(256, 256, 64), {{"a", "bf16"}, {"batch", "3"}, {"groups", "masked"}});
  for (const char* d : {"f32", "bf16"})
    for (const Settings& more : {Settings{{"tile_m", "128"}, {"tile_n", "128"}, {"warps_m", "4"}},
                                 Settings{{"tile_m", "256"}, {"tile_n", "128"}, {"warps_m", "8"}}}) {
      const Settings whole = with(problem, {{"d", d}});
      run(whole, with(more, {{"strategy", "wgmma"}, {"epilogue", "staged"}}),
          {numbers(whole, "group_rows", {40, 200, 128})});
    }
}

TEST_CASE("thread blocks that share an operand skip tiles together", "[gemm][slow]") {
  const Settings problem = with(shape(300, 136, 72), {{"a", "bf16"}, {"batch", "4"}});
  const Settings small{{"strategy", "wgmma"}, {"tile_m", "64"}, {"tile_n", "64"}};
  for (const char* multicast : {"a", "b"})
    for (const char* epilogue : {"direct", "staged"}) {
      const Settings config = with(small, {{"multicast", multicast}, {"epilogue", epilogue}});
      run(problem, config);
      run(with(problem, {{"k", "75"}}), config);
      const Settings masked = with(problem, {{"groups", "masked"}});
      run(masked, config, {numbers(masked, "group_rows", {300, 10, 0, 70})});
      const Settings contiguous = with(problem, {{"groups", "contiguous"}});
      run(contiguous, config, {numbers(contiguous, "group_of_rows", {3, -1, 1})});
    }
}

TEST_CASE("tiles after a group's rows cost no products", "[gemm]") {
  const Settings problem = with(shape(150, 32, 64), {{"a", "bf16"}, {"batch", "3"}, {"groups", "masked"}});
  for (const char* strategy : kStrategies) {
    const auto products = [&](const std::vector<std::int32_t>& rows) {
      exec::Stats stats;
      run_template(executor(), gemm_template(),
                   {.problem = problem,
                    .config = with(tiles(strategy), {{"multicast", "none"}, {"swap", "no"}}),
                    .inputs = {numbers(problem, "group_rows", rows)},
                    .observer = {.stats = &stats}});
      std::uint64_t sum = 0;
      for (const auto& [opcode, count] : stats.executed)
        if (opcode.starts_with("mma.") || opcode.starts_with("wgmma.mma_async")) sum += count;
      return sum;
    };
    const std::uint64_t one = products({0, 64, 0});
    CHECK(one > 0);
    CHECK(products({0, 0, 0}) == 0);
    CHECK(products({1, 65, 150}) == 6 * one);
    CHECK(products({-5, 200, 128}) == 5 * one);
  }
}

TEST_CASE("with contiguous groups each 128 rows have one matrix of B, or none", "[gemm]") {
  const Settings problem =
      with(shape(700, 80, 64), {{"a", "bf16"}, {"batch", "3"}, {"groups", "contiguous"}});
  const std::vector<std::int32_t> groups{2, -1, 0, 0, 3, 1};
  for (const Settings& more :
       {Settings{}, Settings{{"d", "bf16"}, {"beta", "0.5"}}, Settings{{"n", "77"}, {"k", "67"}},
        Settings{{"stride_b", "0"}}, Settings{{"b_layout", "row"}, {"a_layout", "col"}}}) {
    const Settings whole = with(problem, more);
    const HostTensor group_of_rows = numbers(whole, "group_of_rows", groups);
    for (const char* strategy : kStrategies)
      for (const char* tile_m : {"64", "128"})
        for (const char* epilogue : {"direct", "staged"}) {
          const bool staged = epilogue == std::string("staged");
          const std::string d = gemm_template().problem(whole).at("d");
          if (staged && strategy == std::string("mma") && d == "f32") continue;
          const RunResult result = run(
              whole, with(tiles(strategy), {{"tile_m", tile_m}, {"epilogue", epilogue}}), {group_of_rows});
          CHECK(result.verdict.checked == std::stoul(whole.at("n")) * (3 * 128 + 60));
        }
  }
  const Settings one = with(problem, {{"batch", "1"}});
  CHECK(run(one, {}, {numbers(one, "group_of_rows", {0, 1, 0, -1, 0, 2})}).verdict.checked == 80 * 3 * 128);
}

TEST_CASE("random group sizes stay within the groups", "[gemm]") {
  for (const char* strategy : kStrategies) {
    const RunResult masked =
        run(with(shape(90, 40, 64), {{"batch", "12"}, {"groups", "masked"}}), {{"strategy", strategy}});
    CHECK(masked.verdict.checked > 0);
    CHECK(masked.verdict.checked < 12 * 90 * 40);
    const RunResult contiguous =
        run(with(shape(390, 40, 64), {{"batch", "4"}, {"groups", "contiguous"}}), {{"strategy", strategy}});
    CHECK(contiguous.verdict.checked == 390 * 40);
  }
}

}  // namespace ptxloom::test::batch_test
