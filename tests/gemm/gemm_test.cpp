// SPDX-License-Identifier: Apache-2.0
// The gemm template's kernels in the CPU executor against its reference: types, layouts, odd shapes,
// alignments, mma shapes, targets and random configurations, on fresh random data each run.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>

#include "gemm/executor.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/runner.hpp"
#include "support/settings.hpp"

namespace ptxloom::test::gemm_test {
namespace {

std::uint64_t fresh_seed() {
  static const std::uint64_t seed = std::random_device{}();
  return seed;
}

void check_gemm(const std::string& target, const Settings& problem, const Settings& config = {}) {
  INFO("target " << target << ", problem " << words(problem) << ", config " << words(config) << ", seed "
                 << fresh_seed());
  try {
    const RunResult result =
        run_template(executor(target), gemm_template(),
                     {.problem = problem, .config = config, .inputs = {}, .seed = fresh_seed()});
    test::check_gemm(problem, result);
  } catch (const Error& error) {
    FAIL_CHECK(error.what());
  }
}

const Settings kSmall = {
    {"tile_m", "32"}, {"tile_n", "32"}, {"warps_m", "1"}, {"warps_n", "2"}, {"stages", "3"}};

}  // namespace

TEST_CASE("every type in every layout computes D of an odd shape", "[gemm]") {
  for (const char* a : {"f16", "bf16", "tf32", "f64", "e4m3", "e5m2", "s8", "u8"})
    for (const char* a_layout : {"row", "col"})
      for (const char* b_layout : {"row", "col"})
        check_gemm("sm_90a",
                   with(shape(37, 45, 83), {{"a", a}, {"a_layout", a_layout}, {"b_layout", b_layout}}));
}

TEST_CASE("aligned rows use wide copies in every layout", "[gemm]") {
  for (const char* a : {"f16", "tf32", "f64", "e4m3", "s8"})
    for (const char* a_layout : {"row", "col"})
      for (const char* b_layout : {"row", "col"})
        check_gemm("sm_90a",
                   with(shape(80, 96, 160), {{"a", a}, {"a_layout", a_layout}, {"b_layout", b_layout}}));
}

TEST_CASE("s8 and u8 mix, and so do e4m3 and e5m2", "[gemm]") {
  check_gemm("sm_90a", with(shape(33, 40, 70), {{"a", "e4m3"}, {"b", "e5m2"}}));
  check_gemm("sm_89", with(shape(33, 40, 70), {{"a", "e5m2"}, {"b", "e4m3"}}));
  check_gemm("sm_90a", with(shape(33, 40, 70), {{"a", "s8"}, {"b", "u8"}}));
  check_gemm("sm_80", with(shape(33, 40, 70), {{"a", "u8"}, {"b", "s8"}}));
}

TEST_CASE("results of every type, with alpha and beta", "[gemm]") {
  for (const char* a : {"f16", "bf16", "tf32"})
    for (const char* d : {"f32", "f16", "bf16"})
      for (const char* epilogue : {"direct", "staged"}) {
        if (std::string(d) == "f32" && std::string(epilogue) == "staged") continue;
        check_gemm("sm_90a",
                   with(shape(50, 66, 40), {{"a", a}, {"d", d}, {"alpha", "0.75"}, {"beta", "-1.5"}}),
                   with(kSmall, {{"epilogue", epilogue}}));
      }
  check_gemm("sm_90a", with(shape(50, 66, 40), {{"a", "bf16"}, {"d", "f32"}, {"c", "f16"}, {"beta", "2"}}));
  check_gemm("sm_90a", with(shape(50, 66, 40), {{"a", "f64"}, {"alpha", "0.1"}, {"beta", "3"}}));
  check_gemm("sm_90a", with(shape(50, 66, 40), {{"a", "s8"}, {"alpha", "-3"}, {"beta", "7"}}));
}

TEST_CASE("degenerate and thin shapes", "[gemm]") {
  for (const auto& [m, n, k] :
       {std::array{1, 1, 1}, {1, 1, 300}, {1, 257, 3}, {130, 1, 17}, {17, 41, 65}, {16, 8, 4}})
    for (const char* a : {"bf16", "s8", "f64"}) check_gemm("sm_90a", with(shape(m, n, k), {{"a", a}}));
}

TEST_CASE("leading dimensions of every alignment leave the padding alone", "[gemm]") {
  for (const int pad : {1, 2, 3, 4, 8}) {
    const auto ld = [pad](int length) { return std::to_string(length + pad); };
    for (const char* a : {"bf16", "s8", "tf32"})
      check_gemm(
          "sm_90a",
          with(
              shape(40, 48, 64),
              {{"a", a}, {"lda", ld(64)}, {"ldb", ld(64)}, {"ldc", ld(48)}, {"ldd", ld(48)}, {"beta", "1"}}));
    check_gemm("sm_90a", with(shape(40, 48, 64), {{"a", "bf16"}, {"d", "bf16"}, {"ldd", ld(48)}}),
               with(kSmall, {{"epilogue", "staged"}}));
  }
}

TEST_CASE("sizes can be baked in", "[gemm]") {
  for (const char* bake : {"nk", "mnk"})
    check_gemm("sm_90a", with(shape(37, 41, 50), {{"a", "f16"}}), {{"static", bake}});
}

TEST_CASE("every target builds the kernel from the instructions it has", "[gemm]") {
  for (const char* target : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a"})
    for (const char* a : {"f16", "s8"}) check_gemm(target, with(shape(45, 39, 70), {{"a", a}}));
  for (const char* target : {"sm_89", "sm_90", "sm_100a", "sm_120a"})
    check_gemm(target, with(shape(45, 39, 70), {{"a", "e4m3"}}));
  for (const char* a : {"bf16", "tf32", "f64"}) check_gemm("sm_80", with(shape(45, 39, 70), {{"a", a}}));
}

TEST_CASE("a D of e4m3 or e5m2 on targets without the conversion", "[gemm]") {
  for (const char* target : {"sm_75", "sm_80", "sm_86"})
    for (const char* d : {"e4m3", "e5m2"}) {
      check_gemm(target, with(shape(45, 39, 70), {{"a", "f16"}, {"d", d}}));
      check_gemm(target,
                 with(shape(37, 66, 50), {{"a", "f16"}, {"d", d}, {"alpha", "90"}, {"activation", "relu"}}));
    }
}

TEST_CASE("D, C and a bias of bf16 on targets without the conversions", "[gemm]") {
  for (const char* a : {"f16", "s8"}) {
    check_gemm("sm_75", with(shape(45, 39, 70), {{"a", a}, {"d", "bf16"}}));
    check_gemm("sm_75",
               with(shape(37, 66, 50), {{"a", a}, {"d", "bf16"}, {"bias", "bf16"}, {"activation", "relu"}}));
    check_gemm("sm_75", with(shape(53, 42, 66), {{"a", a}, {"d", "f16"}, {"c", "bf16"}, {"beta", "0.5"}}));
  }
}

TEST_CASE("an mma that makes four products, each by a quarter of a warp, is refused", "[gemm]") {
  CHECK_THAT(config_refusal(with(shape(131, 37, 21), {{"a", "f16"}}), {{"mma", "m8n8k4"}}),
             Catch::Matchers::ContainsSubstring("gemm: mma=m8n8k4 of f16"));
}

TEST_CASE("a row of a tile may have up to 1024 bytes", "[gemm]") {
  check_gemm("sm_80", with(shape(131, 37, 21), {{"a", "f64"}, {"a_layout", "col"}}),
             {{"tile_m", "128"}, {"tile_n", "32"}, {"tile_k", "16"}});
  CHECK(config_refusal(with(shape(131, 37, 21), {{"a", "f64"}, {"a_layout", "col"}}),
                       {{"strategy", "mma"}, {"tile_m", "256"}, {"tile_n", "32"}, {"tile_k", "16"}},
                       "sm_80") != "it was accepted");
}

// 96 rows of a tile are one and a half rounds of 512 threads with units of 8 bytes (tf32) or 4 (bf16); for an
// odd k the units are smaller, and loaded through registers.
TEST_CASE("tiles with too few rows for the last round of threads", "[gemm]") {
  const Settings config{{"tile_n", "96"}, {"tile_k", "16"}, {"warps_m", "8"}, {"warps_n", "2"}};
  for (const char* k : {"54", "57"}) {
    check_gemm("sm_90a", {{"m", "300"}, {"n", "101"}, {"k", k}, {"a", "tf32"}},
               with(config, {{"mma", "m16n8k4"}, {"tile_m", "256"}, {"stages", "3"}}));
    check_gemm("sm_90a", {{"m", "200"}, {"n", "107"}, {"k", k}, {"a", "bf16"}},
               with(config, {{"mma", "m16n8k8"}, {"tile_m", "128"}, {"stages", "6"}}));
  }
}

TEST_CASE("a target without the type reports which targets have it", "[gemm]") {
  try {
    run_template(executor("sm_75"), gemm_template(),
                 {.problem = with(shape(8, 8, 8), {{"a", "bf16"}}), .config = {}, .inputs = {}});
    FAIL("bf16 on sm_75 was accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::illegal_ptx);
    CHECK(std::string(error.what()).find("sm_80") != std::string::npos);
  }
}

TEST_CASE("a configuration is chosen only where the kernel can be emitted", "[gemm]") {
  const auto specs = std::make_shared<const Specs>();
  const Template& gemm = gemm_template();
  int refused = 0, emitted = 0;
  for (const char* name : {"sm_75", "sm_80", "sm_89", "sm_90a"})
    for (const char* a : {"f16", "bf16", "s8", "u8"})
      for (const char* d : {"f32", "f16", "bf16", "s8", "e4m3", "e5m2"})
        for (const char* other : {"f32", "f16", "bf16"}) {
          if (a[1] == '8' && d[0] == 'e') continue;
          const Target target(name);
          const Settings problem = gemm.problem(
              with(shape(64, 64, 64), {{"a", a}, {"d", d}, {"c", other}, {"beta", "1"}, {"bias", other}}));
          CAPTURE(name, a, d, other);
          std::optional<Settings> config;
          try {
            config = gemm.config(*specs, target, problem, {});
          } catch (const Error& error) {
            CHECK(error.code() == "not-on-target");
            ++refused;
          }
          if (config) CHECK_NOTHROW(gemm.emit(specs, target, problem, *config));
          if (config) ++emitted;
        }
  CHECK(refused > 10);
  CHECK(emitted > 100);
}

TEST_CASE("random configurations of random problems", "[gemm]") {
  std::mt19937 random(static_cast<std::uint32_t>(fresh_seed()));
  const auto pick = [&](std::initializer_list<const char*> list) {
    return *(list.begin() + random() % list.size());
  };
  for (int i = 0; i < 40; ++i) {
    const auto size = [&](unsigned most) { return static_cast<int>(1 + random() % most); };
    Settings problem = with(shape(size(150), size(150), size(200)),
                            {{"a", pick({"f16", "bf16", "tf32", "f64", "e4m3", "e5m2", "s8", "u8"})},
                             {"a_layout", pick({"row", "col"})},
                             {"b_layout", pick({"row", "col"})},
                             {"beta", pick({"0", "1"})}});
    const auto found = gemm_template().candidates(executor("sm_90a").specs(), Target("sm_90a"),
                                                  gemm_template().problem(problem), {});
    REQUIRE(!found.empty());
    check_gemm("sm_90a", problem, found[random() % found.size()]);
  }
}

}  // namespace ptxloom::test::gemm_test
