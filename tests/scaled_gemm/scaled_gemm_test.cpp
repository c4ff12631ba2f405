// SPDX-License-Identifier: Apache-2.0
// scaled_gemm in the executor: shapes that no tile divides, the tests' own decoding, special codes, refusals.
#include <array>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>

#include "ptxloom/ptx.hpp"
#include "scaled_gemm/textbook.hpp"

namespace ptxloom::scaled_gemm_test::textbook {

using Catch::Matchers::ContainsSubstring;
using test::shape;
using test::with;

TEST_CASE("scaled_gemm: shapes that no tile divides, and rows of any length and pitch") {
  run(shape(1, 1, 1));
  run(with(shape(33, 75, 301), {{"d", "f32"}}));
  run(with(shape(130, 9, 128), {{"d", "f16"}}));
  run(with(shape(17, 40, 544), {{"d", "f32"}}));
  run(with(shape(19, 50, 100), {{"lda", "112"}, {"ldb", "101"}, {"ldd", "53"}}));
}

TEST_CASE("scaled_gemm: both formats of 8 bits on either side") {
  for (const char* a : {"mxfp8_e4m3", "mxfp8_e5m2"})
    for (const char* b : {"mxfp8_e4m3", "mxfp8_e5m2"})
      run(with(shape(20, 36, 200), {{"format_a", a}, {"format_b", b}, {"d", "f32"}}));
}

TEST_CASE("scaled_gemm: both formats of 4 bits") {
  for (const char* format : {"mxfp4", "nvfp4"}) {
    const Settings formats{{"format_a", format}, {"d", "f32"}};
    run(with(shape(1, 1, 2), formats));
    run(with(shape(33, 75, 302), formats));
    run(with(shape(130, 9, 1000), formats));
    run(with(with(shape(19, 50, 100), formats), {{"lda", "132"}, {"ldb", "106"}, {"ldd", "53"}}));
    run(with(with(shape(40, 50, 512), formats), {{"lda", "544"}, {"d", "bf16"}}));
    for (const char* depth : {"128", "256"})
      run(with(shape(40, 131, 650), formats),
          {{"tile_m", "32"}, {"tile_n", "64"}, {"tile_k", depth}, {"warps_m", "2"}, {"warps_n", "2"}});
  }
  run(with(shape(37, 70, 130), {{"format_a", "nvfp4"}, {"d", "f32"}}),
      {{"tile_m", "32"}, {"tile_n", "64"}, {"tile_k", "64"}, {"warps_m", "1"}, {"warps_n", "4"}});
}

TEST_CASE("scaled_gemm: MX formats of any width beside each other") {
  constexpr std::array kFormats = {"mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4"};
  for (const char* a : kFormats)
    for (const char* b : kFormats)
      run(with(shape(21, 37, 336), {{"format_a", a}, {"format_b", b}, {"d", "f32"}}));
  run(with(shape(70, 131, 272), {{"format_a", "mxfp4"}, {"format_b", "mxfp6_e3m2"}, {"lda", "304"}}),
      {{"tile_m", "64"}, {"tile_n", "32"}, {"warps_m", "4"}, {"warps_n", "2"}, {"stages", "4"}});
  run(with(shape(33, 50, 150), {{"format_a", "mxfp8_e4m3"}, {"format_b", "mxfp4"}, {"d", "f16"}}));
}

TEST_CASE("scaled_gemm: each scale of 4-bit elements reaches its own row and group only") {
  for (const char* format : {"mxfp4", "nvfp4"}) {
    const bool nv = std::string_view(format) == "nvfp4";
    const Settings problem = with(shape(37, 43, 330), {{"format_a", format}, {"d", "f32"}});
    const auto scale = [nv](int exponent) {
      return nv ? static_cast<unsigned>(test::narrow::encode(ue4m3, std::ldexp(1.0, exponent)))
                : power(exponent);
    };
    std::vector<HostTensor> in = {
        tensor(problem, "a", [](auto row, auto k) { return static_cast<unsigned>(row + 3 * k) % 16; }),
        tensor(problem, "b", [](auto row, auto k) { return static_cast<unsigned>(5 * row + k) % 16; }),
        tensor(problem, "scale_a",
               [&](auto row, auto group) { return scale(static_cast<int>((row * 5 + group * 3) % 7) - 3); }),
        tensor(problem, "scale_b",
               [&](auto row, auto group) { return scale(static_cast<int>((row * 3 + group * 2) % 5) - 2); })};
    run(problem, {}, in);
    // A NaN of one short last group.
    in[2] = tensor(problem, "scale_a", [&](auto row, auto group) {
      return row == 36 && group == 330 / (nv ? 16 : 32) ? (nv ? 0x7FU : 0xFFU) : scale(0);
    });
    const std::vector<double> d = values_of(run(problem, {}, in).tensors.back());
    CHECK(std::ranges::count_if(d, [](double x) { return std::isnan(x); }) == 43);
  }
}

TEST_CASE("scaled_gemm: divisions among warps, and stages") {
  const auto config = [](const char* m, const char* n, const char* wm, const char* wn, const char* stages) {
    return Settings{{"tile_m", m}, {"tile_n", n}, {"warps_m", wm}, {"warps_n", wn}, {"stages", stages}};
  };
  for (const Settings& c : {config("16", "32", "1", "1", "2"), config("16", "32", "1", "4", "4"),
                            config("64", "32", "4", "4", "3"), config("128", "64", "2", "1", "2"),
                            config("32", "128", "1", "4", "4")})
    run(with(shape(70, 131, 410), {{"d", "f32"}}), c);
}

TEST_CASE("scaled_gemm: each scale reaches its own row and group only") {
  const Settings problem = with(shape(37, 43, 330), {{"d", "f32"}});
  run(problem, {},
      {tensor(problem, "scale_a",
              [](auto row, auto group) { return power(static_cast<int>((row * 5 + group * 3) % 7) - 3); }),
       tensor(problem, "scale_b",
              [](auto row, auto group) { return power(static_cast<int>((row * 3 + group * 2) % 5) - 2); })});
}

TEST_CASE("scaled_gemm: a scale that is NaN reaches its row alone, also that of a short last group") {
  const Settings problem = with(shape(21, 35, 130), {{"d", "f32"}});
  const RunResult result =
      run(problem, {},
          {tensor(problem, "scale_a",
                  [](auto row, auto group) { return row == 11 && group == 4 ? 0xFFU : power(0); }),
           tensor(problem, "scale_b",
                  [](auto row, auto group) { return row == 34 && group == 0 ? 0xFFU : power(0); })});
  const std::vector<double> d = values_of(result.tensors[4]);
  std::size_t not_numbers = 0;
  for (const double value : d) not_numbers += std::isnan(value) ? 1 : 0;
  CHECK(not_numbers == 35 + 21 - 1);
}

TEST_CASE("scaled_gemm: what fills an instruction past the end of k does not round small products away") {
  for (const char* format : {"mxfp4", "nvfp4", "mxfp8_e4m3", "mxfp6_e3m2"})
    for (const int k : {32, 96, 224}) {
      const Settings problem =
          with(shape(19, 34, k), {{"d", "f32"}, {"format_a", format}, {"format_b", format}});
      const unsigned code = format == std::string_view("nvfp4") ? 1 : power(-60);
      const auto small = [code](auto, auto) { return code; };
      const RunResult result =
          run(problem, {}, {tensor(problem, "scale_a", small), tensor(problem, "scale_b", small)});
      const std::vector<double> d = values_of(result.tensors.back());
      CHECK(std::ranges::count(d, 0.0) < std::ssize(d) / 2);
    }
}

TEST_CASE("scaled_gemm: the smallest and the largest scales, and the largest codes") {
  const Settings problem = with(shape(18, 20, 96), {{"d", "f32"}});
  const auto all = [&](const char* name, unsigned code) {
    return tensor(problem, name, [code](auto, auto) { return code; });
  };
  // 2^-127 * 2^127, and the other way round; then products that overflow, and zeros.
  run(problem, {}, {all("scale_a", 0x00), all("scale_b", 0xFE)});
  run(problem, {}, {all("a", 0x7E), all("b", 0xFE), all("scale_a", 0xFE), all("scale_b", 0x00)});
  run(problem, {}, {all("a", 0x00), all("b", 0x80), all("scale_a", 0xFE), all("scale_b", 0xFE)});
  const Settings half = with(problem, {{"d", "f16"}});
  const RunResult result = run_template(
      executor(), scaled_gemm(),
      {.problem = half,
       .inputs = {all("a", 0x7E), all("b", 0x7E), all("scale_a", power(0)), all("scale_b", power(0))}});
  CHECK(result.verdict.ok());
  for (const double value : values_of(result.tensors[4])) REQUIRE(std::isinf(value));
}

TEST_CASE("scaled_gemm: the reference notices a wrong element, a missing one and written padding") {
  const RunResult result = run(with(shape(5, 9, 64), {{"ldd", "12"}, {"d", "f32"}}));
  const auto inputs = std::span(result.tensors).first(4);
  const auto verdict = [&](std::size_t index, float value) {
    HostTensor d = result.tensors[4];
    std::memcpy(d.bytes.data() + 4 * index, &value, 4);
    return verify(scaled_gemm().expect(result.kernel.problem, inputs).at(0), d).ok();
  };
  float right = 0;
  std::memcpy(&right, result.tensors[4].bytes.data() + 4 * 13, 4);
  CHECK(verdict(13, right));
  CHECK_FALSE(verdict(13, right + 0.25F));
  CHECK_FALSE(verdict(11, 0.0F));
}

TEST_CASE("scaled_gemm: what cannot be served is refused, and the hint says what can") {
  const Specs specs;
  const auto refused = [&](const Settings& problem, const Settings& config, const char* target) {
    return refusal(
        [&] { scaled_gemm().config(specs, Target(target), scaled_gemm().problem(problem), config); });
  };
  CHECK_THAT(refused(shape(16, 16, 32), {}, "sm_75"), ContainsSubstring("sm_80, sm_86"));
  CHECK_THAT(refused(shape(16, 16, 32), {{"strategy", "block_scale"}}, "sm_90a"),
             ContainsSubstring("sm_120a"));
  CHECK(refused(shape(16, 16, 32), {}, "sm_121a") == "it was accepted");
  CHECK_THAT(refused(shape(16, 16, 32), {{"tile_m", "16"}, {"warps_m", "2"}}, "sm_120a"),
             ContainsSubstring("16 rows"));
  CHECK_THAT(refused({{"m", "4"}, {"n", "5"}}, {}, "sm_120a"), ContainsSubstring("parameters m, n and k"));
  const Settings packed{{"format_a", "nvfp4"}};
  CHECK_THAT(refused(with(shape(16, 16, 33), packed), {}, "sm_120a"), ContainsSubstring("multiples of 2"));
  CHECK_THAT(refused(with(shape(16, 16, 40), {{"format_b", "mxfp6_e2m3"}}), {}, "sm_120a"),
             ContainsSubstring("multiples of 16"));
  CHECK_THAT(refused(with(shape(16, 16, 34), {{"format_b", "mxfp4"}, {"ldb", "40"}}), {}, "sm_120a"),
             ContainsSubstring("multiple of 16"));
  CHECK_THAT(refused(with(with(shape(16, 16, 32), packed), {{"ldb", "33"}}), {}, "sm_120a"),
             ContainsSubstring("whole bytes") && ContainsSubstring("give a multiple of 2"));
  CHECK_THAT(refused(with(with(shape(16, 16, 32), packed), {{"group", "32"}}), {}, "sm_120a"),
             ContainsSubstring("16 elements"));
  CHECK(refused(with(shape(16, 16, 32), {{"format_a", "mxfp4"}, {"format_b", "nvfp4"}}), {}, "sm_120a") ==
        "it was accepted");
  CHECK_THAT(refused(with(shape(16, 16, 32), {{"format_a", "mxfp4"}, {"format_b", "s4"}}), {}, "sm_120a"),
             ContainsSubstring("mxfp4, nvfp4"));
  const Settings plain{{"format_a", "e2m1"}, {"format_b", "e2m1"}};
  for (const char* pitch : {"lda", "ldb"})
    for (const char* target : {"sm_120a", "sm_80"}) {
      CHECK_THAT(refused(with(with(shape(33, 130, 130), plain), {{pitch, "132"}}), {}, target),
                 ContainsSubstring("give a multiple of 16"));
      CHECK(refused(with(with(shape(33, 130, 130), plain), {{pitch, "144"}}), {}, target) ==
            "it was accepted");
    }
  CHECK_THAT(refused(with(shape(16, 16, 64), {{"lda", "63"}}), {}, "sm_120a"),
             ContainsSubstring("give at least 64, or 0"));
}

}  // namespace ptxloom::scaled_gemm_test::textbook
