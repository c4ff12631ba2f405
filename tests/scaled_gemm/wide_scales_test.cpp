// SPDX-License-Identifier: Apache-2.0
// scaled_gemm with scales in f32, and with one scale for each column of B: integers beside all types of A
// that have them, in the executor.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "scaled_gemm/weight_case.hpp"

namespace ptxloom::scaled_gemm_test::wide_scales {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::shape;
using test::with;

Settings formats(const char* a, const char* b, const char* group) {
  return {{"format_a", a}, {"format_b", b}, {"group", group}, {"scale_b", "f32"}, {"d", "f32"}};
}

Settings tiles(const char* m, const char* n, const char* k, const char* warps, const char* stages) {
  return {{"tile_m", m}, {"tile_n", n}, {"tile_k", k}, {"warps_n", warps}, {"stages", stages}};
}

}  // namespace

TEST_CASE("scaled_gemm, scales in f32: halves, integers with and without zero points") {
  for (const char* a : {"bf16", "f16"})
    for (const char* b : {"s4", "u4"})
      for (const char* group : {"16", "32", "128", "row"}) {
        Case one(with(shape(13, 75, 330), formats(a, b, group)));
        one.run(tiles("16", "64", "128", "4", "3"));
        one.run(tiles("24", "128", "64", "4", "2"));
        one.run({}, "sm_80");
      }
}

TEST_CASE("scaled_gemm, scales in f32: activations of 8 bits") {
  for (const char* a : {"e4m3", "s8"})
    for (const char* group : {"32", "64", "256", "row"}) {
      Case one(with(shape(17, 70, 410), formats(a, "s4", group)));
      one.run(tiles("32", "64", "128", "4", "3"));
      one.run({}, "sm_89");
    }
}

TEST_CASE("scaled_gemm, scales of columns in the type of A") {
  for (const char* a : {"bf16", "f16", "e4m3", "s8"})
    for (const char* depth : {"64", "128"}) {
      Settings problem = with(shape(9, 130, 1000), formats(a, "s4", "row"));
      problem.erase("scale_b");
      Case one(problem);
      one.run(tiles("16", "64", depth, "4", "4"));
      one.run({}, "sm_89");
    }
}

TEST_CASE("scaled_gemm, scales in f32: the ends of their range, infinity and NaN") {
  // 2^-140 is subnormal in f32 and in bf16, and 2^120 times 8 has no place in f16.
  Case one(with(shape(9, 70, 96), formats("bf16", "s4", "32")));
  for (std::size_t row = 0; row < 70; ++row) one.set_scale(row, 1, row % 2 == 0 ? 0x200 : 0x7b800000);
  one.set_scale(3, 2, 0x7f800000);
  one.set_scale(5, 0, 0x7fc00000);
  for (std::size_t k = 64; k < 96; ++k) {
    one.set_weight(3, k, 2);
    for (std::size_t row = 0; row < 9; ++row) one.set_activation(row, k, 0.5);
  }
  for (const char* target : {"sm_90a", "sm_80"}) {
    const std::vector<double> d = one.run({}, target);
    CHECK(std::ranges::count_if(d, [](double x) { return std::isnan(x); }) == 9);
    CHECK(std::ranges::count_if(d, [](double x) { return std::isinf(x); }) == 9);
  }
}

TEST_CASE("scaled_gemm: types of scales that a format does not have are refused") {
  const auto refused = [](const Settings& more) {
    return refusal([&] { scaled_gemm().problem(with(shape(16, 64, 256), more)); });
  };
  CHECK_THAT(refused({{"format_a", "bf16"}, {"format_b", "s4"}, {"scale_b", "f16"}}),
             ContainsSubstring("give bf16 or f32"));
  CHECK_THAT(refused({{"format_a", "e4m3"}, {"format_b", "s4"}, {"scale_b", "ue8m0"}}),
             ContainsSubstring("give bf16 or f32"));
  CHECK_THAT(refused({{"format_a", "bf16"}, {"format_b", "mxfp4"}, {"scale_b", "f32"}}),
             ContainsSubstring("leave scale_b out"));
  CHECK_THAT(refused({{"format_a", "bf16"}, {"format_b", "mxfp4"}, {"group", "row"}}),
             ContainsSubstring("leave group out"));
  CHECK(refused({{"format_a", "bf16"}, {"format_b", "mxfp4"}, {"scale_b", "ue8m0"}}) == "it was accepted");
}

}  // namespace ptxloom::scaled_gemm_test::wide_scales
