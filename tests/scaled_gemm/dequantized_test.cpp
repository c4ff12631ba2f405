// SPDX-License-Identifier: Apache-2.0
// scaled_gemm where no instruction applies the scales: A and B become bf16 in shared memory.
#include <array>
#include <utility>

#include "scaled_gemm/textbook.hpp"

namespace ptxloom::scaled_gemm_test::textbook {

using test::shape;
using test::with;

TEST_CASE("scaled_gemm: any two formats are dequantized where no instruction applies their scales") {
  constexpr std::array kFormats = {"mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "nvfp4"};
  int number = 0;
  for (const char* a : kFormats)
    for (const char* b : kFormats) {
      const Settings formats{{"format_a", a}, {"format_b", b}, {"d", "f32"}};
      run(with(shape(21, 37, 336), formats), {{"strategy", "dequantize"}}, {},
          std::array{"sm_80", "sm_89", "sm_90a", "sm_120a"}[static_cast<std::size_t>(number++ % 4)]);
    }
  run(shape(1, 1, 1), {}, {}, "sm_90a");
  run(with(shape(19, 50, 100), {{"lda", "112"}, {"ldb", "101"}, {"ldd", "53"}}), {}, {}, "sm_80");
  run(with(shape(33, 50, 150), {{"format_a", "nvfp4"}, {"format_b", "mxfp8_e5m2"}, {"d", "f16"}}), {}, {},
      "sm_90a");
  const auto config = [](const char* m, const char* n, const char* k, const char* wm, const char* wn,
                         const char* stages) {
    return Settings{{"strategy", "dequantize"},
                    {"tile_m", m},
                    {"tile_n", n},
                    {"tile_k", k},
                    {"warps_m", wm},
                    {"warps_n", wn},
                    {"stages", stages}};
  };
  for (const Settings& c :
       {config("16", "32", "64", "1", "4", "4"), config("128", "64", "64", "2", "2", "2"),
        config("32", "128", "128", "1", "4", "2"), config("64", "32", "128", "4", "4", "2")})
    for (const auto& [a, b] : {std::pair{"mxfp8_e4m3", "mxfp4"}, {"mxfp6_e3m2", "nvfp4"}})
      run(with(shape(70, 131, 432), {{"format_a", a}, {"format_b", b}, {"d", "f32"}}), c, {}, "sm_90a");
}

TEST_CASE("scaled_gemm, dequantized: warpgroups multiply by wgmma") {
  constexpr std::array kFormats = {"mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "nvfp4"};
  const auto config = [](const char* m, const char* n, const char* wn, const char* stages) {
    return Settings{{"strategy", "dequantize_wgmma"},
                    {"tile_m", m},
                    {"tile_n", n},
                    {"tile_k", "64"},
                    {"warps_m", "4"},
                    {"warps_n", wn},
                    {"stages", stages}};
  };
  std::size_t number = 0;
  for (const char* a : kFormats) {
    const char* const b = kFormats[(2 * number++ + 1) % kFormats.size()];
    run(with(shape(71, 37, 336), {{"format_a", a}, {"format_b", b}, {"d", "f32"}}),
        {{"strategy", "dequantize_wgmma"}}, {}, "sm_90a");
  }
  for (const Settings& c : {config("64", "32", "1", "2"), config("128", "128", "2", "2"),
                            config("64", "128", "4", "3"), config("128", "64", "1", "2")})
    for (const auto& [a, b] : {std::pair{"mxfp8_e4m3", "mxfp4"}, {"mxfp6_e3m2", "nvfp4"}, {"e4m3", "e2m1"}})
      run(with(shape(150, 131, 208), {{"format_a", a}, {"format_b", b}, {"d", "f32"}, {"ldd", "133"}}), c, {},
          "sm_90a");
  run(with(shape(33, 8, 128), {{"d", "f16"}}), {}, {}, "sm_90a");
  const Specs specs;
  const auto chosen = [&](int m, const Settings& more) {
    const Settings problem = scaled_gemm().problem(with(shape(m, 64, 64), more));
    return scaled_gemm().config(specs, Target("sm_90a"), problem, {}).at("strategy");
  };
  CHECK(chosen(33, {}) == "dequantize_wgmma");
  CHECK(chosen(32, {}) == "dequantize");
  CHECK(chosen(64, {{"swiglu", "yes"}}) == "dequantize");
}

TEST_CASE("scaled_gemm, dequantized: NaN, zeros and the ends of the scales' range") {
  const Settings problem = with(shape(21, 35, 130), {{"d", "f32"}});
  const auto all = [&](const char* name, unsigned code) {
    return tensor(problem, name, [code](auto, auto) { return code; });
  };
  for (const char* target : {"sm_80", "sm_90a"}) {
    const auto one_nan = [&](const char* name, std::uint64_t of_row, std::uint64_t of_group) {
      return tensor(problem, name, [=](auto row, auto group) {
        return row == of_row && group == of_group ? 0xFFU : power(0);
      });
    };
    const RunResult result = run(problem, {}, {one_nan("scale_a", 11, 4), one_nan("scale_b", 34, 0)}, target);
    const std::vector<double> d = values_of(result.tensors[4]);
    CHECK(std::ranges::count_if(d, [](double x) { return std::isnan(x); }) == 35 + 21 - 1);
    run(problem, {}, {all("scale_a", 0x00), all("scale_b", 0xF0)}, target);
    run(problem, {}, {all("a", 0x00), all("b", 0x80), all("scale_a", 0xFE), all("scale_b", 0xFE)}, target);
    // 448 * 2^127 is infinite in bf16.
    const RunResult large = run_template(
        test::executor_of(target), scaled_gemm(),
        {.problem = problem,
         .inputs = {all("a", 0x7E), all("b", 0x38), all("scale_a", 0xFE), all("scale_b", 0x00)}});
    CHECK(large.verdict.first.empty());
    REQUIRE(large.verdict.ok());
    for (const double value : values_of(large.tensors[4])) REQUIRE(std::isinf(value));
  }
}

TEST_CASE("scaled_gemm, dequantized: all codes of 4 bits, with scales at the ends of their range, and NaN") {
  for (const char* format : {"mxfp4", "nvfp4"}) {
    const Settings problem =
        with(shape(35, 21, 96), {{"format_a", format}, {"format_b", format}, {"d", "f32"}});
    const bool mx = format == std::string("mxfp4");
    const auto made = [&](const char* name, const auto& code) { return tensor(problem, name, code); };
    const auto elements = [](auto row, auto k) { return static_cast<unsigned>((row + 3 * k) % 16); };
    const auto both = [&](const auto& scale_a, const auto& scale_b) {
      return std::vector{made("a", elements), made("b", elements), made("scale_a", scale_a),
                         made("scale_b", scale_b)};
    };
    const auto small = [&](auto row, auto group) {
      return static_cast<unsigned>(mx ? (row + group) % 3 : (row + 5 * group) % 127);
    };
    const auto large = [&](auto row, auto group) {
      return static_cast<unsigned>(mx ? 0xF0 + (row + group) % 3 : 126 - (3 * row + group) % 127);
    };
    for (const char* target : {"sm_80", "sm_90a"}) {
      run(problem, {}, both(small, large), target);
      run(problem, {}, both(large, small), target);
      const auto nan = [&](auto row, auto group) {
        return row == 7 && group == 1 ? (mx ? 0xFFU : 0x7FU) : large(row, group);
      };
      const RunResult result = run(problem, {}, both(nan, small), target);
      const std::vector<double> d = values_of(result.tensors.back());
      CHECK(std::ranges::count_if(d, [](double x) { return std::isnan(x); }) == 21);
    }
  }
}

}  // namespace ptxloom::scaled_gemm_test::textbook
