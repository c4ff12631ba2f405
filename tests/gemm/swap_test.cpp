// SPDX-License-Identifier: Apache-2.0
// Strategy wgmma with swap=yes, for small M, in the CPU executor, compared with the reference and with
// kernels that do not swap; when it is chosen, and what it refuses.
#include <algorithm>
#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <set>

#include "gemm/executor.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/runner.hpp"
#include "support/settings.hpp"
#include "support/wgmma_types.hpp"

namespace ptxloom::test::swap_test {
namespace {

constexpr const char* kLayouts[] = {"row", "col"};
constexpr int kRows[] = {1, 16, 17, 64};

/// Tiles of columns of D by rows of D.
Settings tiles(int columns, int rows, int warps_m = 4, int warps_n = 1) {
  return {{"tile_m", std::to_string(columns)},
          {"tile_n", std::to_string(rows)},
          {"warps_m", std::to_string(warps_m)},
          {"warps_n", std::to_string(warps_n)}};
}

const HostTensor& result_of(const RunResult& run) {
  for (const HostTensor& tensor : run.tensors)
    if (tensor.plan.name == "d") return tensor;
  throw Error(ErrorKind::usage, "no-tensor", "d");
}

/// Bytes outside D's elements that have lost their poison.
std::size_t touched(const RunResult& run) {
  const HostTensor& d = result_of(run);
  const Expectation expected = gemm_template().expect(run.kernel.problem, run.tensors).at(0);
  std::set<std::size_t> elements;
  for (const Expectation::Point& point : expected.points) elements.insert(point.index);
  const auto size = static_cast<std::size_t>(d.plan.type.bytes());
  std::size_t count = 0;
  for (std::size_t i = 0; i < d.bytes.size(); ++i)
    if (d.bytes[i] != kPoison && !elements.contains(i / size)) ++count;
  return count;
}

std::vector<std::string> arguments(const RunResult& run) {
  std::vector<std::string> names;
  for (const ArgumentPlan& argument : run.kernel.launches.front().arguments) names.push_back(argument.name);
  return names;
}

/// With swap: the result is right, nothing outside D is written, the kernel is called like one that does not
/// swap, and the bits are the same if that one adds along k in the same order.
RunResult check(const Settings& problem, const Settings& config, bool same_sums = true,
                const std::vector<HostTensor>& inputs = {}) {
  const Settings tile_k = config.contains("tile_k") ? Settings{{"tile_k", config.at("tile_k")}} : Settings{};
  const auto split = config.find("split");
  const Settings plain = with(tile_k, {{"strategy", "wgmma"},
                                       {"swap", "no"},
                                       {"stream_k", "no"},
                                       {"epilogue", "direct"},
                                       {"split", split == config.end() ? "1" : split->second}});
  RunResult swapped = run_gemm(problem, with(config, {{"swap", "yes"}, {"stream_k", "no"}}), inputs);
  CHECK(swapped.kernel.config.at("strategy") == "wgmma");
  CHECK(swapped.kernel.kernels.front().ptx().find("D^T = B^T A^T") != std::string::npos);
  CHECK(touched(swapped) == 0);
  const RunResult usual = run_gemm(problem, plain, inputs);
  CHECK(arguments(swapped) == arguments(usual));
  if (same_sums) CHECK((result_of(swapped).bytes == result_of(usual).bytes));
  return swapped;
}

const Settings kFunction{{"bias", "f32"},    {"activation", "silu"}, {"scale_a", "row"},
                         {"scale_b", "col"}, {"scale_d", "tensor"},  {"beta", "0.75"},
                         {"alpha", "0.3"},   {"add_c", "after"}};

}  // namespace

TEST_CASE("swap with 16-bit types in every layout", "[gemm][slow]") {
  for (const char* a_layout : kLayouts)
    for (const char* b_layout : kLayouts)
      for (const int m : kRows)
        for (const char* d : {"f32", "bf16"})
          check(with(shape(m, 200, 136),
                     {{"a", "bf16"}, {"d", d}, {"a_layout", a_layout}, {"b_layout", b_layout}}),
                {});
}

TEST_CASE("swap with every other type and every result type", "[gemm][slow]") {
  for (const WgmmaTypes& types : kWgmmaTypes)
    for (const int m : kRows)
      for (const char* d : types.d)
        check(with(shape(m, 150, 144), {{"a", types.a}, {"b", types.b}, {"d", d}}), tiles(64, 16));
  for (const char* a : {"bf16", "e4m3", "tf32"})
    for (const char* d : {"e4m3", "e5m2", "s8"})
      for (const char* ldd : {"0", "157"})
        check(with(shape(17, 150, 144), {{"a", a}, {"d", d}, {"ldd", ldd}}), tiles(64, 16));
  check(with(shape(40, 150, 144), {{"a", "s8"}, {"b", "u8"}, {"d", "s8"}, {"alpha", "0.001"}}),
        tiles(64, 48));
}

TEST_CASE("swap with tiles of every shape", "[gemm][slow]") {
  const Settings problem = with(shape(40, 300, 200), {{"a", "f16"}, {"d", "f16"}, {"ldd", "304"}});
  for (const auto& [columns, rows, warps_m, warps_n] : {std::array{64, 8, 4, 1},
                                                        {64, 40, 4, 1},
                                                        {64, 256, 4, 1},
                                                        {128, 16, 4, 1},
                                                        {128, 24, 8, 1},
                                                        {256, 48, 8, 1},
                                                        {64, 48, 4, 2},
                                                        {128, 80, 4, 2}})
    for (const char* bake : {"none", "mnk"})
      check(problem, with(tiles(columns, rows, warps_m, warps_n), {{"static", bake}}));
  check(with(problem, {{"a_layout", "col"}, {"b_layout", "row"}, {"ldb", "304"}}),
        with(tiles(64, 24), {{"static", "none"}}));
  check(with(problem, {{"m", "200"}}), tiles(64, 64));  // more than small M
}

TEST_CASE("swap with epilogues", "[gemm]") {
  for (const char* d : {"f32", "bf16", "e4m3", "s8"})
    for (const int m : {17, 64})
      check(
          with(with(shape(m, 150, 96), kFunction), {{"a", "bf16"}, {"d", d}, {"ldc", "163"}, {"ldd", "159"}}),
          tiles(64, 24));
  for (const char* activation : {"relu", "gelu", "gelu_tanh"})
    check(
        with(shape(16, 130, 96), {{"a", "f16"}, {"bias", "bf16"}, {"activation", activation}, {"beta", "1"}}),
        tiles(128, 16));
  for (const char* scale_a : {"none", "tensor", "row"})
    for (const char* scale_b : {"none", "tensor", "col"})
      check(with(shape(16, 130, 96),
                 {{"a", "e4m3"}, {"d", "bf16"}, {"scale_a", scale_a}, {"scale_b", scale_b}}),
            tiles(64, 16));
  check(with(shape(16, 130, 96), {{"a", "s8"}, {"alpha", "-3"}, {"beta", "70000"}}), tiles(64, 16));
  check(with(shape(16, 130, 272), {{"a", "e4m3"}, {"sums", "promoted"}}),
        with(tiles(64, 16), {{"tile_k", "128"}}));
}

TEST_CASE("swap with batches", "[gemm]") {
  const Settings problem = with(shape(17, 136, 72), {{"a", "bf16"}, {"d", "bf16"}, {"batch", "3"}});
  for (const char* bake : {"none", "mnk"}) {
    const Settings config = with(tiles(64, 16), {{"static", bake}});
    check(problem, config);
    check(with(problem, {{"stride_a", "0"}, {"stride_d", "2500"}}), config);
    check(with(problem, {{"beta", "0.5"}, {"stride_c", "2400"}, {"stride_b", "0"}, {"bias", "f32"}}), config);
    check(with(problem, {{"ldd", "408"}, {"stride_d", "136"}}), config);  // side by side
  }
  check(with(problem, {{"k", "67"}}), tiles(64, 16));
}

TEST_CASE("swap with groups", "[gemm][slow]") {
  const Settings masked =
      with(shape(40, 200, 72), {{"a", "bf16"}, {"d", "bf16"}, {"batch", "7"}, {"groups", "masked"}});
  const HostTensor rows = numbers(masked, "group_rows", {0, 1, 16, 17, 40, 41, -1});
  for (const Settings& more :
       {Settings{{"multicast", "none"}}, Settings{{"multicast", "a"}}, Settings{{"multicast", "b"}},
        Settings{{"static", "none"}}, Settings{{"split", "2"}, {"tile_k", "32"}}}) {
    const RunResult run = check(masked, with(tiles(64, 16), more), true, {rows});
    CHECK(run.verdict.checked == 200 * (0 + 1 + 16 + 17 + 40 + 40));
  }
  check(with(masked, {{"k", "67"}, {"stride_b", "0"}, {"bias", "f32"}, {"scale_a", "row"}}), tiles(64, 24),
        true, {rows});
  const Settings contiguous =
      with(shape(500, 136, 72), {{"a", "bf16"}, {"beta", "2"}, {"batch", "3"}, {"groups", "contiguous"}});
  const HostTensor groups = numbers(contiguous, "group_of_rows", {2, -1, 0, 3});
  for (const char* multicast : {"none", "a", "b"})
    for (const int tile : {16, 64}) {
      const RunResult run =
          check(contiguous, with(tiles(64, tile), {{"multicast", multicast}}), true, {groups});
      CHECK(run.verdict.checked == 136 * 2 * 128);
    }
}

TEST_CASE("swap with split k, shared tiles, and more tiles than thread blocks", "[gemm]") {
  for (const char* split : {"2", "4"})
    for (const char* d : {"f32", "bf16"}) {
      const Settings problem = with(with(shape(17, 136, 520), kFunction), {{"a", "bf16"}, {"d", d}});
      const RunResult run = check(problem, with(tiles(64, 32), {{"split", split}, {"tile_k", "64"}}),
                                  split == std::string("2"));  // other splits add in an order that depends on
                                                               // columns
      CHECK(run.kernel.launches.front().cluster[0] == static_cast<unsigned>(std::stoi(split)));
    }
  for (const char* shared : {"a", "b"})
    for (const char* a_layout : kLayouts) {
      const Settings problem = with(shape(40, 200, 136), {{"a", "bf16"}, {"a_layout", a_layout}});
      const RunResult run = check(problem, with(tiles(64, 16), {{"multicast", shared}}));
      CHECK(run.kernel.launches.front().cluster[0] == 2);
    }
  check(with(shape(64, 1500, 40), {{"a", "f16"}, {"d", "f16"}}),
        with(tiles(64, 8), {{"stages", "3"}, {"raster", "2"}}));
}

TEST_CASE("swap with packed matrices", "[gemm]") {
  for (const char* a_layout : kLayouts)
    for (const char* b_layout : kLayouts)
      for (const int m : {1, 17}) {
        const Settings layouts{{"a", "bf16"}, {"a_layout", a_layout}, {"b_layout", b_layout}};
        const RunResult run = check(with(shape(m, 131, 93), layouts), tiles(64, 24));
        CHECK(run.kernel.launches.front().workspace_bytes > 0);
      }
  for (const char* word : {"lda", "ldb"})  // one of the two operands
    check(with(shape(17, 131, 64), {{"a", "f16"}, {word, "67"}}), tiles(64, 24));
  check(with(shape(16, 77, 131), {{"a", "e5m2"}, {"b", "e4m3"}, {"d", "f16"}}), tiles(64, 16));
}

TEST_CASE("random configurations with swap", "[gemm]") {
  std::mt19937 random(Catch::getSeed());
  const auto pick = [&](std::initializer_list<const char*> list) {
    return *(list.begin() + random() % list.size());
  };
  const auto size = [&](unsigned most) { return static_cast<int>(1 + random() % most); };
  for (int i = 0; i < 25; ++i) {
    const Settings problem =
        with(shape(size(64), size(400), size(300)), {{"a", pick({"f16", "bf16", "e4m3", "u8"})},
                                                     {"ldd", pick({"0", "400", "401"})},
                                                     {"batch", pick({"1", "1", "2"})},
                                                     {"stride_d", "26000"},
                                                     {"beta", pick({"0", "2"})}});
    const auto found =
        gemm_template().candidates(executor().specs(), Target("sm_90a"), gemm_template().problem(problem),
                                   {{"strategy", "wgmma"}, {"swap", "yes"}, {"stream_k", "no"}});
    REQUIRE(found.size() > 10);
    check(problem, found[random() % found.size()], false);
  }
}

TEST_CASE("swap is considered unless it is given, and chosen where it pays", "[gemm]") {
  const auto swaps = [](const Settings& problem, const Settings& given) {
    std::set<std::string> words;
    for (const Settings& config : gemm_template().candidates(executor().specs(), Target("sm_90a"),
                                                             gemm_template().problem(problem), given))
      words.insert(config.at("swap"));
    return words;
  };
  using Words = std::set<std::string>;
  CHECK(swaps(shape(64, 1024, 512), {}) == Words{"no", "yes"});
  CHECK(swaps(shape(65, 1024, 512), {}) == Words{"no", "yes"});
  CHECK(swaps(shape(65, 1024, 512), {{"swap", "yes"}}) == Words{"yes"});
  CHECK(swaps(shape(64, 1024, 512), {{"swap", "no"}}) == Words{"no"});
  const auto chosen = [](const Settings& problem) {
    return gemm_template()
        .config(executor().specs(), Target("sm_90a"), gemm_template().problem(problem), {})
        .at("swap");
  };
  CHECK(chosen(shape(16, 6144, 4096)) == "yes");
  CHECK(chosen(shape(64, 28672, 4096)) == "no");
  CHECK(chosen(shape(4096, 4096, 4096)) == "no");
}

TEST_CASE("swap is refused with a reason where it is impossible", "[gemm]") {
  const auto says = [](const Settings& more, const Settings& config, const char* part) {
    const std::string text = config_refusal(with(shape(16, 256, 256), more), with(config, {{"swap", "yes"}}));
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  says({}, {{"epilogue", "staged"}}, "epilogue must be direct");
  says({}, {{"strategy", "mma"}}, "with strategy=mma swap must be no");
  const Settings contiguous{{"batch", "2"}, {"groups", "contiguous"}};
  says(contiguous, with(tiles(64, 24), {{"multicast", "none"}}), "tile_n must divide 128");
  says(contiguous, with(tiles(64, 128), {{"strategy", "wgmma"}, {"multicast", "a"}}), "64 with multicast=a");
  says({{"a", "e4m3"}, {"scale_a", "block"}}, {}, "with block scales swap must be no");
  says({{"a", "e4m3"}, {"scale_b", "block"}}, {}, "with block scales swap must be no");
  says({}, {{"strategy", "wgmma"}, {"tile_m", "16"}, {"warps_m", "4"}}, "64 or 128 rows");
}

}  // namespace ptxloom::test::swap_test
