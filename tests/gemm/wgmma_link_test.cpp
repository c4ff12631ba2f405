// SPDX-License-Identifier: Apache-2.0
// What nvJitLink reports for wgmma kernels: no spills, and none of the remarks that it has undone an
// optimisation (wgmma serialised, setmaxnreg ignored), which no result would show.
#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "ptxloom/gemm.hpp"
#include "ptxloom/ptx.hpp"
#include "support/settings.hpp"

using namespace ptxloom;

namespace {

void check_link(const Settings& wanted, const Settings& config) {
  const auto specs = std::make_shared<const Specs>();
  const Target target("sm_90a");
  const Settings problem = gemm_template().problem(wanted);
  const Settings whole = gemm_template().config(*specs, target, problem, config);
  INFO(test::words(whole) << "seed " << Catch::getSeed());
  CHECK(whole.at("strategy") == "wgmma");
  const LinkResult linked = Linker(Libraries())
                                .link(print(gemm_template().emit(specs, target, problem, whole).module),
                                      {.target = std::string(target.name())});
  for (const Diagnostic& remark : linked.diagnostics) FAIL_CHECK(remark.message);
  REQUIRE(linked.resources.size() == 1);
  CHECK(linked.resources[0].registers > 0);
  CHECK(linked.resources[0].spill_stores == 0);
}

}  // namespace

TEST_CASE("linked wgmma kernels neither spill nor give remarks", "[gemm][slow]") {
  const Settings large{{"m", "4096"}, {"n", "4096"}, {"k", "4096"}, {"a", "bf16"}};
  // The most accumulators that two warpgroups can hold, and one.
  check_link(large, {{"tile_m", "256"}, {"tile_n", "136"}, {"warps_m", "8"}});
  check_link(large, {{"tile_m", "128"}, {"tile_n", "216"}, {"warps_m", "4"}, {"warps_n", "1"}});
  const Settings function{{"bias", "f32"},    {"activation", "gelu"}, {"scale_a", "row"},
                          {"scale_b", "col"}, {"beta", "1"},          {"add_c", "after"}};
  for (const char* d : {"f32", "bf16", "s8"}) {
    const Settings problem = test::with(test::with(large, function), {{"d", d}});
    check_link(problem, {{"tile_m", "256"}, {"tile_n", "128"}, {"warps_m", "8"}});
    check_link(problem, {{"tile_m", "128"}, {"tile_n", "208"}, {"warps_m", "4"}, {"warps_n", "1"}});
  }
  constexpr std::pair<const char*, const char*> kTypes[] = {
      {"bf16", "bf16"}, {"tf32", "tf32"}, {"e4m3", "e4m3"}, {"e4m3", "e5m2"}, {"e5m2", "e4m3"},
      {"e5m2", "e5m2"}, {"s8", "s8"},     {"s8", "u8"},     {"u8", "s8"},     {"u8", "u8"}};
  for (const auto& [a, b] : kTypes)
    check_link(test::with(large, {{"a", a}, {"b", b}}), {{"strategy", "wgmma"}});
  for (const char* a : {"bf16", "tf32", "e4m3", "s8"})
    check_link(test::with(large, {{"a", a}}), {{"strategy", "wgmma"}, {"epilogue", "direct"}});
  // The most accumulators that two warpgroups, and one, can promote.
  Settings promoted = large;
  promoted["a"] = "e4m3";
  promoted["sums"] = "promoted";
  check_link(promoted, {{"tile_m", "128"}, {"tile_n", "136"}, {"warps_m", "8"}});
  check_link(promoted, {{"tile_m", "128"}, {"tile_n", "104"}, {"warps_m", "4"}, {"warps_n", "1"}});
  check_link(promoted, {});
  // Rows that TMA cannot load or store: A and B are packed, D is copied row by row.
  for (const char* d : {"bf16", "f32", "e4m3"}) {
    const Settings odd{{"m", "4097"}, {"n", "4099"}, {"k", "4101"}, {"a", "bf16"}, {"d", d}};
    check_link(odd, {{"strategy", "wgmma"}});
    check_link(odd, {{"tile_m", "128"}, {"tile_n", "256"}, {"warps_m", "8"}, {"epilogue", "staged"}});
  }
  // The most accumulators with block scales.
  Settings blocks = test::with(large, {{"a", "e4m3"}, {"scale_a", "block"}, {"scale_b", "block"}});
  const Settings around{{"bias", "f32"}, {"activation", "gelu"}, {"beta", "1"}, {"scale_d", "tensor"}};
  const Settings below{{"tile_m", "128"}, {"tile_n", "128"}, {"warps_m", "8"}},
      beside{{"tile_m", "64"}, {"tile_n", "256"}, {"warps_m", "4"}, {"warps_n", "2"}};
  for (const Settings& tiles : {below, beside})
    for (const char* bake : {"none", "mnk"}) {
      check_link(blocks, test::with(tiles, {{"static", bake}}));
      for (const char* d : {"f32", "bf16", "e4m3"})
        if (bake == std::string("none") || d == std::string("e4m3"))
          check_link(test::with(test::with(blocks, around), {{"d", d}}),
                     test::with(tiles, {{"static", bake}}));
    }
  blocks["scale_b"] = "col";
  check_link(blocks, {{"tile_m", "128"}, {"tile_n", "136"}, {"warps_m", "8"}});
  check_link(blocks, {{"tile_m", "128"}, {"tile_n", "104"}, {"warps_m", "4"}, {"warps_n", "1"}});
  std::mt19937 random(Catch::getSeed());
  const auto pick = [&](std::initializer_list<const char*> list) {
    return std::string(*(list.begin() + random() % list.size()));
  };
  const auto specs = std::make_shared<const Specs>();
  for (int i = 0; i < 8; ++i) {
    Settings problem = large;
    problem["d"] = pick({"f32", "bf16"});
    problem["beta"] = pick({"0", "1"});
    problem["a_layout"] = pick({"row", "col"});
    problem["b_layout"] = pick({"row", "col"});
    const auto found =
        gemm_template().candidates(*specs, Target("sm_90a"), gemm_template().problem(problem),
                                   {{"strategy", "wgmma"}, {"epilogue", pick({"direct", "staged"})}});
    check_link(problem, found[random() % found.size()]);
  }
}

TEST_CASE("linked wgmma kernels with batches and groups do not spill", "[gemm][slow]") {
  const Settings sizes{{"m", "4096"}, {"n", "4096"}, {"k", "4096"}, {"a", "bf16"}, {"batch", "8"}};
  const Settings function{{"bias", "f32"},    {"activation", "gelu"}, {"scale_a", "row"},
                          {"scale_b", "col"}, {"beta", "1"},          {"add_c", "after"}};
  const Settings two{{"tile_m", "256"}, {"tile_n", "128"}, {"warps_m", "8"}},
      beside{{"tile_m", "128"}, {"tile_n", "256"}, {"warps_m", "4"}, {"warps_n", "2"}},
      one{{"tile_m", "128"}, {"tile_n", "208"}, {"warps_m", "4"}, {"warps_n", "1"}};
  // Every pair of values occurs.
  constexpr std::array<const char*, 3> kWords[] = {{"f32", "staged", "none"},
                                                   {"f32", "direct", "mnk"},
                                                   {"bf16", "staged", "mnk"},
                                                   {"bf16", "direct", "none"}};
  for (const char* groups : {"none", "masked", "contiguous"})
    for (const auto& [d, epilogue, bake] : kWords) {
      const Settings problem = test::with(sizes, {{"groups", groups}, {"d", d}});
      const Settings how{{"epilogue", epilogue}, {"static", bake}};
      const bool tall = groups != std::string("contiguous");
      check_link(test::with(problem, function), test::with(tall ? two : beside, how));
      check_link(problem, test::with(one, how));
    }
  for (const auto& [groups, k] : {std::array{"none", "4097"}, {"masked", "4096"}, {"contiguous", "4097"}}) {
    const Settings blocks{
        {"a", "e4m3"}, {"scale_a", "block"}, {"scale_b", "block"}, {"groups", groups}, {"k", k}};
    check_link(test::with(sizes, blocks), {{"tile_m", "128"}, {"tile_n", "128"}, {"warps_m", "8"}});
  }
}

TEST_CASE("linked wgmma kernels with split k do not spill", "[gemm][slow]") {
  const auto tiles = [](const char* m, const char* n, const char* warps_m, const char* warps_n,
                        const char* split) {
    return Settings{{"strategy", "wgmma"}, {"tile_m", m},        {"tile_n", n},
                    {"warps_m", warps_m},  {"warps_n", warps_n}, {"split", split}};
  };
  for (const Settings& config : {tiles("128", "192", "8", "1", "8"), tiles("256", "96", "8", "1", "4"),
                                 tiles("128", "128", "4", "1", "8"), tiles("128", "176", "4", "1", "2"),
                                 tiles("64", "256", "4", "1", "8"), tiles("64", "192", "4", "2", "4")})
    for (const auto& [a, d] : {std::array{"bf16", "f32"}, {"tf32", "bf16"}})
      check_link({{"m", "512"}, {"n", "520"}, {"k", "4096"}, {"a", a}, {"d", d}, {"beta", "1.5"}}, config);
  for (const Settings& config : {tiles("128", "64", "8", "1", "4"), tiles("128", "64", "4", "1", "4")})
    check_link({{"m", "512"},
                {"n", "520"},
                {"k", "4096"},
                {"a", "e4m3"},
                {"scale_a", "block"},
                {"scale_b", "block"}},
               config);
}

TEST_CASE("linked wgmma stream-K kernels do not spill", "[gemm][slow]") {
  const auto tiles = [](const char* m, const char* n, const char* warps_m, const char* warps_n) {
    return Settings{{"strategy", "wgmma"}, {"tile_m", m},        {"tile_n", n},
                    {"warps_m", warps_m},  {"warps_n", warps_n}, {"stream_k", "yes"}};
  };
  const Settings sizes{{"m", "512"}, {"n", "520"}, {"k", "8192"}, {"a", "bf16"}};
  const Settings function{{"bias", "f32"},    {"activation", "gelu"}, {"scale_a", "row"},
                          {"scale_b", "col"}, {"beta", "1"},          {"add_c", "after"}};
  const Settings most = tiles("256", "128", "8", "1"), one = tiles("128", "208", "4", "1"),
                 beside = tiles("128", "256", "4", "2"), across = tiles("128", "256", "8", "1");
  const Settings with_function[] = {tiles("256", "112", "8", "1"), tiles("128", "224", "4", "2"),
                                    tiles("128", "224", "8", "1"), one};
  for (const char* d : {"f32", "bf16"}) {
    const Settings problem = test::with(sizes, {{"d", d}});
    for (const Settings& config : {most, across, one}) check_link(problem, config);
    const char* const epilogue = d == std::string("f32") ? "direct" : "staged";
    for (const Settings& config : with_function)
      check_link(test::with(problem, function), test::with(config, {{"epilogue", epilogue}}));
  }
  // The options that keep the most in registers besides the accumulators.
  const Settings batches = test::with(test::with(sizes, function), {{"batch", "3"}});
  for (const char* epilogue : {"staged", "direct"}) {
    const Settings how{{"epilogue", epilogue}, {"static", "none"}};
    check_link(batches, test::with(one, how));
    for (const char* multicast : {"none", "a", "b"})
      check_link(batches, test::with(test::with(with_function[2], how), {{"multicast", multicast}}));
    check_link(batches, test::with(test::with(with_function[0], how), {{"multicast", "b"}}));
  }
  check_link(sizes, test::with(beside, {{"static", "none"}}));
  check_link(test::with(sizes, {{"k", "8197"}}), tiles("128", "192", "8", "1"));  // packed
  check_link(test::with(sizes, {{"batch", "3"}, {"d", "bf16"}}), beside);
  const Settings promoted = test::with(sizes, {{"a", "e4m3"}, {"sums", "promoted"}});
  check_link(promoted, tiles("128", "136", "8", "1"));
  check_link(promoted, tiles("128", "104", "4", "1"));
  const Settings blocks = test::with(sizes, {{"a", "e4m3"}, {"scale_a", "block"}, {"scale_b", "block"}});
  check_link(blocks, tiles("128", "128", "8", "1"));
  const Settings odd{{"a_layout", "col"}, {"b_layout", "col"}, {"beta", "1.5"}, {"d", "f16"}, {"ldd", "601"}};
  for (const Settings& config : {with_function[0], one, tiles("128", "208", "8", "1")})
    check_link(test::with(sizes, odd), config);
}

TEST_CASE("linked wgmma kernels that store D row by row with C do not spill", "[gemm][slow]") {
  const Settings problem{{"m", "512"}, {"n", "362"}, {"k", "4096"}, {"a", "bf16"}, {"beta", "2"}};
  const Settings staged{{"strategy", "wgmma"}, {"epilogue", "staged"}};
  check_link(problem, test::with(staged, {{"tile_m", "256"}, {"tile_n", "96"}, {"warps_m", "8"}}));
  check_link(problem, test::with(staged, {{"tile_m", "128"}, {"tile_n", "192"}, {"warps_m", "8"}}));
  check_link(test::with(problem, {{"n", "364"}}),
             test::with(staged, {{"tile_m", "256"}, {"tile_n", "128"}, {"warps_m", "8"}}));
  const Settings from_registers{
      {"tile_m", "128"}, {"tile_n", "248"}, {"warps_m", "8"}, {"epilogue", "direct"}};
  check_link(test::with(problem, {{"d", "bf16"}}), test::with(from_registers, {{"strategy", "wgmma"}}));
  const Settings integers{{"a", "s8"}, {"d", "s32"}, {"alpha", "-3"}};
  check_link(test::with(test::with(problem, integers), {{"beta", "0"}}),
             test::with(staged, {{"tile_m", "128"}, {"tile_n", "224"}, {"warps_m", "8"}}));
  check_link(test::with(problem, integers),
             test::with(staged, {{"schedule", "pingpong"}, {"tile_m", "128"}, {"tile_n", "96"}}));
  check_link(
      test::with(test::with(problem, integers), {{"beta", "0"}}),
      test::with(staged, {{"loads", "thread"}, {"tile_m", "256"}, {"tile_n", "160"}, {"warps_m", "8"}}));
}

TEST_CASE("linked wgmma kernels with swap do not spill", "[gemm][slow]") {
  const auto tiles = [](const char* m, const char* n, const char* warps_m, const char* split) {
    return Settings{{"swap", "yes"}, {"tile_m", m}, {"tile_n", n}, {"warps_m", warps_m}, {"split", split}};
  };
  const Settings few{{"m", "40"}, {"n", "4096"}, {"k", "4096"}, {"a", "bf16"}},
      odd{{"n", "4099"}, {"k", "4101"}};
  const Settings function{{"bias", "f32"},    {"activation", "gelu"}, {"scale_a", "row"},
                          {"scale_b", "col"}, {"beta", "1"},          {"add_c", "after"}};
  for (const Settings& config : {tiles("64", "16", "4", "1"), tiles("64", "48", "4", "2"),
                                 tiles("256", "64", "8", "1"), tiles("128", "128", "4", "1")}) {
    check_link(test::with(few, {{"batch", "2"}}), config);
    check_link(test::with(few, odd), test::with(config, {{"split", "1"}}));
    for (const char* d : {"f32", "bf16", "s8"})
      check_link(test::with(test::with(few, function), {{"d", d}}), config);
  }
  // The most accumulators.
  for (const Settings& config : {tiles("256", "136", "8", "1"), tiles("128", "208", "4", "1")})
    check_link(test::with(few, {{"m", "4096"}}), config);
  for (const Settings& config : {tiles("256", "128", "8", "1"), tiles("128", "176", "4", "1")})
    check_link(test::with(test::with(few, function), {{"m", "4096"}}), config);
  // Sizes and pitches in registers, too.
  for (const auto& [loads, n] : {std::pair{"warp", "136"}, {"thread", "192"}})
    check_link(test::with(test::with(few, function), {{"m", "4096"}, {"batch", "8"}}),
               test::with(tiles("256", n, "8", "1"), {{"static", "none"}, {"loads", loads}}));
  for (const char* a : {"tf32", "e4m3", "s8"}) check_link(test::with(few, {{"a", a}}), {{"swap", "yes"}});
}

TEST_CASE("linked wgmma kernels with loads=thread do not spill", "[gemm][slow]") {
  const auto tiles = [](const char* m, const char* n) {
    return Settings{
        {"strategy", "wgmma"}, {"loads", "thread"}, {"tile_m", m}, {"tile_n", n}, {"warps_m", "8"}};
  };
  const Settings sizes{{"m", "4096"}, {"n", "4096"}, {"k", "4096"}};
  const Settings function{{"bias", "f32"},    {"activation", "gelu"}, {"scale_a", "row"},
                          {"scale_b", "col"}, {"beta", "1"},          {"add_c", "after"}};
  for (const char* a : {"f16", "tf32", "e4m3", "s8"})
    for (const char* epilogue : {"staged", "direct"})
      check_link(test::with(sizes, {{"a", a}}), test::with(tiles("256", "192"), {{"epilogue", epilogue}}));
  for (const auto& [d, bake] : {std::pair{"f32", "none"}, {"bf16", "mnk"}})
    check_link(test::with(test::with(sizes, function), {{"a", "bf16"}, {"d", d}}),
               test::with(tiles("256", "192"), {{"static", bake}}));
  check_link(test::with(sizes, {{"a", "bf16"}, {"m", "4097"}, {"n", "4099"}, {"k", "4101"}}),
             tiles("256", "192"));
  check_link(test::with(sizes, {{"a", "bf16"}, {"batch", "8"}}),
             test::with(tiles("256", "192"), {{"static", "none"}}));
  const Settings promoted = test::with(sizes, {{"a", "e4m3"}, {"sums", "promoted"}}),
                 blocks = test::with(sizes, {{"a", "e4m3"}, {"scale_a", "block"}, {"scale_b", "col"}}),
                 around{{"bias", "f32"}, {"activation", "gelu"}, {"beta", "1"}, {"scale_d", "tensor"}};
  for (const char* n : {"160", "192"})
    for (const Settings& problem :
         {promoted, blocks, test::with(blocks, test::with(around, {{"d", "bf16"}}))})
      check_link(problem, test::with(tiles("128", n), {{"static", "none"}}));
}
