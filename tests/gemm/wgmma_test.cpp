// SPDX-License-Identifier: Apache-2.0
// Strategy wgmma in the CPU executor, with judging, compared with the reference: types, layouts, result
// types, tiles of every shape, sizes that are not multiples of a tile, and refusals.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "gemm/executor.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/runner.hpp"
#include "support/narrow.hpp"
#include "support/settings.hpp"
#include "support/wgmma_types.hpp"

namespace ptxloom::test::wgmma_test {
namespace {

Settings tiles(int m, int n, int warps_m = 4, int warps_n = 1) {
  return {{"tile_m", std::to_string(m)},
          {"tile_n", std::to_string(n)},
          {"warps_m", std::to_string(warps_m)},
          {"warps_n", std::to_string(warps_n)}};
}

Settings words_of(const WgmmaTypes& types) { return {{"a", types.a}, {"b", types.b}}; }

/// Runs it and compares every element; the configuration must be wgmma. Inputs that are not given are random.
void check(const Settings& problem, const Settings& config, const std::vector<HostTensor>& inputs = {}) {
  const Settings wanted = with(config, {{"strategy", "wgmma"}});
  const RunResult result = run_gemm(problem, wanted, inputs);
  CHECK(result.kernel.config.at("strategy") == "wgmma");
  CHECK((result.kernel.launches.front().blocks_per_sm > 0) == (result.kernel.config.at("split") == "1"));
}

std::string refusal(const Settings& problem, const Settings& config, const char* target = "sm_90a") {
  return config_refusal(problem, with(config, {{"strategy", "wgmma"}}), target);
}

constexpr const char* kLayouts[] = {"row", "col"};

}  // namespace

TEST_CASE("wgmma in every layout, with every result type", "[gemm]") {
  for (const char* a : {"f16", "bf16"})
    for (const char* a_layout : kLayouts)
      for (const char* b_layout : kLayouts)
        for (const char* d : {"f32", "f16", "bf16"})
          check(
              with(shape(136, 104, 88), {{"a", a}, {"a_layout", a_layout}, {"b_layout", b_layout}, {"d", d}}),
              tiles(128, 48, 8));
}

TEST_CASE("the weights of a product with small M are streamed through L2", "[gemm][slow]") {
  const auto hints = [](const Settings& problem, const Settings& config) {
    const RunResult run = run_gemm(with(problem, {{"a", "bf16"}}), with(config, {{"strategy", "wgmma"}}));
    return run.kernel.kernels.front().ptx().find(".L2::cache_hint") != std::string::npos;
  };
  const Settings weights = shape(9, 2100, 2056);
  CHECK(hints(weights, {{"swap", "yes"}}));
  CHECK(hints(weights, {{"swap", "no"}, {"multicast", "a"}, {"tile_n", "128"}}));
  CHECK(!hints(with(weights, {{"m", "300"}, {"n", "40"}}), {}));                         // the weights are
                                                                                         // not large
  CHECK(!hints(with(weights, {{"batch", "2"}, {"stride_b", "0"}}), {{"swap", "yes"}}));  // read again
}

TEST_CASE("wgmma of every other type, with every result type", "[gemm]") {
  for (const WgmmaTypes& types : kWgmmaTypes)
    for (const char* d : types.d)
      for (const char* epilogue : {"staged", "direct"})
        check(with(with(shape(136, 104, 208), words_of(types)), {{"d", d}}),
              with(tiles(128, 48, 8), {{"epilogue", epilogue}}));
}

TEST_CASE("wgmma of every other type with odd sizes", "[gemm]") {
  for (const WgmmaTypes& types : kWgmmaTypes)
    for (const auto& [m, n, k] : {std::array{1, 1, 1}, {65, 129, 263}, {130, 47, 31}})
      check(with(with(shape(m, n, k), words_of(types)), {{"lda", "272"}, {"ldb", "288"}, {"ldd", "133"}}),
            tiles(64, 64, 4, 2));
}

TEST_CASE("wgmma of every other type with every stage depth", "[gemm]") {
  for (const char* a : {"tf32", "e4m3", "u8"})
    for (const int step : {1, 2, 4, 8, 16, 32}) {
      const int depth = (std::string(a) == "tf32" ? 8 : 32) * step;
      if (depth <= 256)
        check(with(shape(72, 40, 592), {{"a", a}}),
              with(tiles(64, 32), {{"tile_k", std::to_string(depth)}, {"stages", "2"}, {"split", "1"}}));
    }
}

TEST_CASE("wgmma of integers: every tile width, exact alpha and beta", "[gemm]") {
  for (int n : {8, 16, 24, 32, 48, 64, 80, 112, 144, 176, 208, 240, 256})
    check(with(shape(70, n + 4, 144),
               {{"a", "s8"}, {"b", "u8"}, {"ldc", "301"}, {"alpha", "-3"}, {"beta", "70000"}}),
          tiles(64, n));
}

namespace {

/// The largest relative error of D, for positive e4m3 inputs of equal weight.
double error_of(const Settings& problem) {
  std::vector<HostTensor> inputs;
  for (const TensorPlan& plan : gemm_template().tensors(gemm_template().problem(problem))) {
    if (plan.role != TensorPlan::Role::in) continue;
    HostTensor& tensor = inputs.emplace_back(random_tensor(plan, Catch::getSeed()));
    for (std::byte& element : tensor.bytes) element = (element & std::byte{0x07}) | std::byte{0x38};
  }
  const RunResult result = run_template(executor(), gemm_template(),
                                        {.problem = problem,
                                         .config = with(tiles(64, 16), {{"strategy", "wgmma"}}),
                                         .inputs = inputs,
                                         .seed = Catch::getSeed()});
  check_gemm(problem, result);
  const std::size_t m = std::stoul(problem.at("m")), n = std::stoul(problem.at("n")),
                    k = std::stoul(problem.at("k"));
  const std::vector<double> a = narrow::values(inputs[0].plan.type, inputs[0].bytes),
                            b = narrow::values(inputs[1].plan.type, inputs[1].bytes),
                            d = narrow::values(f32, result.tensors.back().bytes);
  double worst = 0;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const double sum = std::inner_product(&a[i * k], &a[i * k] + k, &b[j * k], 0.0);
      worst = std::max(worst, std::abs(d[i * n + j] - sum) / sum);
    }
  return worst;
}

}  // namespace

TEST_CASE("wgmma promotes the accumulators of 8-bit floats", "[gemm]") {
  const Settings promoted{{"sums", "promoted"}};
  for (const WgmmaTypes& types : kWgmmaTypes) {
    if (types.a[0] != 'e') continue;
    check(with(with(shape(130, 104, 272), words_of(types)), promoted), tiles(64, 72));
  }
  for (const Settings& one : {tiles(64, 72), tiles(128, 48, 8), tiles(128, 40), tiles(64, 128, 4, 2)})
    for (const char* tile_k : {"32", "128"})
      check(with(with(shape(130, 104, 272), {{"a", "e4m3"}}), promoted), with(one, {{"tile_k", tile_k}}));
  const Settings problem = with(shape(40, 24, 4096), {{"a", "e4m3"}});
  const double plain = error_of(problem), better = error_of(with(problem, promoted));
  CAPTURE(plain, better);
  CHECK(better * 8 < plain);
}

TEST_CASE("wgmma ignores the low bits of tf32", "[gemm]") {
  const Settings problem = with(shape(72, 40, 100), {{"a", "tf32"}});
  std::vector<HostTensor> inputs;
  std::mt19937 random(Catch::getSeed());
  for (const TensorPlan& plan : gemm_template().tensors(gemm_template().problem(problem))) {
    if (plan.role != TensorPlan::Role::in) continue;
    HostTensor& tensor = inputs.emplace_back(random_tensor(plan, Catch::getSeed()));
    for (std::size_t at = 0; at < tensor.bytes.size(); at += 4) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &tensor.bytes[at], sizeof bits);
      bits |= static_cast<std::uint32_t>(random()) & 0x1fff;
      std::memcpy(&tensor.bytes[at], &bits, sizeof bits);
    }
  }
  check(problem, tiles(64, 40), inputs);
}

TEST_CASE("wgmma tiles of every width", "[gemm]") {
  for (int n = 8; n <= 256; n += 8)
    check(with(shape(72, n + 16, 64), {{"a", "bf16"}, {"d", n % 16 == 0 ? "bf16" : "f32"}}), tiles(64, n));
  for (int n = 8; n <= 128; n += 24)
    for (const char* b_layout : kLayouts)
      check(with(shape(72, 2 * n + 8, 48), {{"a", "f16"}, {"d", "f16"}, {"b_layout", b_layout}}),
            tiles(64, n));
}

TEST_CASE("wgmma with one warpgroup and with two, of 64 rows and of 128", "[gemm]") {
  const Settings of_tiles[] = {tiles(64, 64),      tiles(64, 160, 4, 2), tiles(64, 16, 4, 2),
                               tiles(128, 96),     tiles(128, 256, 8),   tiles(128, 192, 4),
                               tiles(256, 128, 8), tiles(256, 136, 8),   tiles(128, 32, 4, 2)};
  for (const Settings& one : of_tiles)
    for (const char* epilogue : {"staged", "direct"})
      check(with(shape(264, 200, 72), {{"a", "bf16"}, {"d", "bf16"}}), with(one, {{"epilogue", epilogue}}));
}

TEST_CASE("wgmma with every stage depth, and with few or many stages", "[gemm]") {
  for (const char* tile_k : {"16", "32", "64", "128", "256"})
    for (const char* layout : kLayouts)
      for (const char* stages : {"2", "3", "6"}) {
        const bool deep = std::string(tile_k) == "256" && std::string(stages) == "6";
        check(with(shape(72, 72, 328), {{"a", "f16"}, {"a_layout", layout}, {"b_layout", layout}}),
              with(tiles(64, 64), {{"tile_k", tile_k}, {"stages", deep ? "3" : stages}}));
      }
}

TEST_CASE("wgmma with alpha, beta and C of another type", "[gemm]") {
  for (const char* c : {"f32", "bf16"})
    for (const char* d : {"f32", "bf16"})
      for (const char* ldc : {"0", "105", "112"})
        check(with(shape(136, 104, 40),
                   {{"a", "bf16"}, {"c", c}, {"d", d}, {"ldc", ldc}, {"alpha", "0.75"}, {"beta", "-1.5"}}),
              tiles(64, 64, 4));
}

TEST_CASE("wgmma leaves the padding of D alone", "[gemm]") {
  for (const char* ldd : {"104", "105", "112"})
    for (int n : {97, 100, 104})
      for (const char* d : {"f16", "f32"})
        check(with(shape(70, n, 64), {{"a", "f16"}, {"d", d}, {"ldd", ldd}}), tiles(64, 32));
}

TEST_CASE("wgmma with odd sizes", "[gemm]") {
  const Settings aligned{{"a", "bf16"}, {"lda", "264"}, {"ldb", "264"}};
  for (const auto& [m, n, k] : {std::array{1, 1, 1}, {1, 300, 7}, {65, 1, 63}, {63, 65, 257}, {257, 129, 65}})
    for (const char* bake : {"none", "mnk"})
      check(with(shape(m, n, k), aligned), with(tiles(64, 128), {{"static", bake}}));
}

TEST_CASE("wgmma with more tiles than thread blocks", "[gemm]") {
  for (const char* raster : {"1", "4", "16"})
    check(with(shape(600, 600, 24), {{"a", "f16"}, {"d", "f16"}}),
          with(tiles(64, 64), {{"raster", raster}, {"stages", "3"}}));
}

TEST_CASE("random configurations of wgmma", "[gemm]") {
  std::mt19937 random(Catch::getSeed());
  const auto pick = [&](std::initializer_list<const char*> list) {
    return *(list.begin() + random() % list.size());
  };
  for (int i = 0; i < 40; ++i) {
    const auto size = [&](unsigned most) { return static_cast<int>(1 + random() % most); };
    const Settings problem =
        with(shape(size(300), size(300), size(200)), {{"a", pick({"f16", "bf16"})},
                                                      {"d", pick({"f32", "f16", "bf16"})},
                                                      {"a_layout", pick({"row", "col"})},
                                                      {"b_layout", pick({"row", "col"})},
                                                      {"lda", "400"},
                                                      {"ldb", "408"},
                                                      {"ldd", pick({"0", "400", "401"})},
                                                      {"beta", pick({"0", "1"})}});
    const auto found = gemm_template().candidates(executor().specs(), Target("sm_90a"),
                                                  gemm_template().problem(problem), {{"strategy", "wgmma"}});
    REQUIRE(found.size() > 50);
    check(problem, found[random() % found.size()]);
  }
}

TEST_CASE("random configurations of wgmma of every other type", "[gemm]") {
  std::mt19937 random(Catch::getSeed());
  for (int i = 0; i < 3 * static_cast<int>(std::size(kWgmmaTypes)); ++i) {
    const WgmmaTypes& types = kWgmmaTypes[static_cast<std::size_t>(i) % std::size(kWgmmaTypes)];
    const auto size = [&](unsigned most) { return static_cast<int>(1 + random() % most); };
    const bool integers = types.d[0] == std::string_view("s32");
    const Settings problem = with(with(shape(size(200), size(200), size(300)), words_of(types)),
                                  {{"d", types.d[random() % types.d.size()]},
                                   {"lda", "400"},
                                   {"ldb", "416"},
                                   {"ldd", random() % 2 == 0 ? "304" : "301"},
                                   {"alpha", integers ? "-7" : "0.3"},
                                   {"beta", random() % 2 == 0 ? "0" : "2"}});
    const auto found = gemm_template().candidates(executor().specs(), Target("sm_90a"),
                                                  gemm_template().problem(problem), {{"strategy", "wgmma"}});
    REQUIRE(found.size() > 20);
    check(problem, found[random() % found.size()]);
  }
}

TEST_CASE("wgmma is chosen for large products where possible, and says why where it is not", "[gemm]") {
  const auto chosen = [](const Settings& problem, const char* target) {
    return gemm_template()
        .config(executor().specs(), Target(target), gemm_template().problem(problem), {})
        .at("strategy");
  };
  CHECK(chosen(shape(512, 512, 512), "sm_90a") == "wgmma");
  CHECK(chosen(shape(64, 64, 63), "sm_90a") == "mma");  // sooner than packing
  for (const WgmmaTypes& types : kWgmmaTypes) {
    const Settings problem = with(shape(512, 512, 512), words_of(types));
    CAPTURE(types.a, types.b);
    CHECK(chosen(problem, "sm_90a") == "wgmma");
    CHECK(chosen(with(problem, {{"a_layout", "col"}}), "sm_90a") == "mma");
    CHECK(chosen(with(problem, {{"b_layout", "row"}}), "sm_90a") == "mma");
  }
  CHECK(chosen(with(shape(64, 64, 64), {{"a", "f64"}}), "sm_90a") == "mma");
  CHECK(chosen(shape(64, 64, 64), "sm_90") == "mma");

  const auto says = [](const std::string& text, const char* part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  says(refusal(shape(64, 64, 63), {{"static", "none"}}), "static must be mnk");
  says(refusal(with(shape(64, 64, 64), {{"a", "f64"}}), {}), "f64");
  says(refusal(with(shape(64, 64, 64), {{"a", "tf32"}, {"b_layout", "row"}}), {}), "contiguous along k");
  says(refusal(with(shape(64, 64, 64), {{"a", "e5m2"}, {"lda", "72"}}), {{"static", "none"}}),
       "static must be mnk");
  says(refusal(with(shape(64, 64, 64), {{"a", "u8"}}), tiles(64, 40)), "multiple of 16 columns");
  says(refusal(with(shape(64, 64, 64), {{"a", "s8"}}), {{"tile_k", "16"}}), "32 bytes");
  says(refusal(shape(64, 64, 64), {}, "sm_100a"), "sm_90a");
  // No single rule explains it.
  says(refusal(shape(512, 512, 512), {{"tile_m", "256"}, {"tile_n", "256"}}),
       "admissible without tile_m=256");
  const Settings promoted = with(shape(256, 256, 256), {{"a", "e4m3"}, {"sums", "promoted"}});
  CHECK(chosen(promoted, "sm_90a") == "wgmma");
  CHECK(chosen(promoted, "sm_90") == "mma");
  CHECK_THROWS_AS(chosen(promoted, "sm_89"), Error);
  CHECK_THROWS_AS(chosen(with(promoted, {{"a", "f16"}}), "sm_90a"), Error);
  says(refusal(promoted, {{"tile_k", "256"}}), "at most 128");
  says(refusal(promoted, tiles(128, 256, 8)), "registers");
  const Settings staged{{"epilogue", "staged"}, {"stages", "4"}, {"tile_k", "64"}, {"split", "1"}};
  says(refusal(shape(64, 63, 64), with(tiles(64, 24), staged)), "epilogue=direct");
  says(refusal(shape(64, 64, 64), {{"mma", "m16n8k16"}}), "m64nNk16");
  says(refusal(shape(64, 64, 64), {{"tile_m", "256"}, {"tile_n", "256"}, {"warps_m", "8"}, {"warps_n", "1"}}),
       "registers");
}

}  // namespace ptxloom::test::wgmma_test
