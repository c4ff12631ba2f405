// SPDX-License-Identifier: Apache-2.0
// scaled_gemm with 4-bit weights in the executor, against plain weights that the test shuffles: shapes that
// no tile divides, padding that holds anything, scales at the edges of their formats, refusals.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "scaled_gemm/weight_case.hpp"

using namespace ptxloom;
using namespace ptxloom::scaled_gemm_test;
using Catch::Matchers::ContainsSubstring;
using test::shape;
using test::with;

namespace {

const Settings kIntegers{{"format_a", "bf16"}, {"format_b", "s4"}};
const Settings kHalfIntegers{{"format_a", "f16"}, {"format_b", "s4"}};
const Settings kFloats{{"format_a", "bf16"}, {"format_b", "mxfp4"}};
const Settings kNvFloats{{"format_a", "bf16"}, {"format_b", "nvfp4"}};
const Settings kNvHalves{{"format_a", "f16"}, {"format_b", "nvfp4"}};

Settings tiles(const char* m, const char* n, const char* k, const char* warps, const char* stages,
               const char* split) {
  return {{"tile_m", m},      {"tile_n", n},      {"tile_k", k},
          {"warps_n", warps}, {"stages", stages}, {"split", split}};
}

}  // namespace

TEST_CASE("scaled_gemm, weights: shapes that no tile divides, whose padding holds anything") {
  for (const Settings& formats : {kIntegers, kFloats, kNvFloats, kNvHalves}) {
    Case(with(shape(1, 1, 1), formats)).run();
    Case(with(with(shape(3, 75, 301), formats), {{"d", "f32"}})).run();
    Case(with(with(shape(17, 200, 410), formats), {{"lda", "424"}, {"ldd", "208"}})).run();
    Case(with(with(shape(70, 130, 160), formats), {{"d", "f16"}})).run();
  }
}

TEST_CASE("scaled_gemm, weights: types of A, and groups of all lengths") {
  for (const char* group : {"16", "32", "64", "128", "256", "1024"})
    Case(with(with(shape(11, 70, 600), kIntegers), {{"group", group}, {"d", "f32"}})).run();
  for (const char* group : {"32", "512"})
    Case(with(with(shape(21, 66, 270), kHalfIntegers), {{"group", group}, {"d", "f32"}}))
        .run(tiles("24", "64", "64", "4", "3", "1"));
}

TEST_CASE("scaled_gemm, weights: unsigned integers with zero points") {
  for (const char* a : {"bf16", "f16"})
    for (const char* group : {"32", "128", "256"}) {
      Case one(
          with(shape(13, 70, 300), {{"format_a", a}, {"format_b", "u4"}, {"group", group}, {"d", "f32"}}));
      one.run();
      one.run(tiles("16", "128", "128", "4", "3", "2"));
    }
}

TEST_CASE("scaled_gemm, weights: divisions among warpgroups, and clusters that divide k") {
  for (const Settings& c :
       {tiles("8", "64", "128", "4", "2", "4"), tiles("16", "128", "64", "8", "3", "8"),
        tiles("32", "128", "128", "4", "2", "4"), tiles("48", "64", "64", "4", "2", "2"),
        tiles("64", "128", "128", "8", "2", "8"), tiles("96", "192", "64", "12", "2", "1")})
    for (const Settings& formats : {kIntegers, kFloats, kNvFloats, kNvHalves})
      Case(with(with(shape(37, 131, 1030), formats), {{"d", "f32"}})).run(c);
}

TEST_CASE("scaled_gemm, weights: large tiles are stored through shared memory") {
  for (const Settings& formats : {kIntegers, kFloats, kNvFloats, kNvHalves}) {
    Case(with(shape(140, 200, 160), formats)).run(tiles("32", "64", "64", "4", "4", "1"));
    Case(with(shape(270, 136, 96), formats)).run(tiles("192", "128", "64", "8", "3", "1"));
    Case(with(with(shape(140, 328, 64), formats), {{"d", "f16"}}))
        .run(tiles("64", "128", "64", "4", "4", "1"));
    Case(with(shape(170, 400, 128), formats)).run(tiles("128", "192", "64", "12", "3", "1"));
    Case(with(shape(170, 136, 64), formats)).run(tiles("160", "128", "64", "8", "3", "1"));
    Case(with(shape(260, 64, 64), formats)).run(tiles("256", "64", "64", "4", "2", "1"));
  }
}

TEST_CASE("scaled_gemm, weights: all codes of an element, each scale in its own row and group") {
  for (const Settings& formats : {kIntegers, kHalfIntegers, kFloats, kNvFloats, kNvHalves}) {
    Case one(with(with(shape(5, 67, 288), formats), {{"group", formats == kFloats                  ? "32"
                                                               : formats.at("format_b") == "nvfp4" ? "16"
                                                                                                   : "64"},
                                                     {"d", "f32"}}));
    for (std::size_t row = 0; row < 67; ++row) {
      for (std::size_t k = 0; k < 288; ++k) one.set_weight(row, k, static_cast<unsigned>((row + 3 * k) % 16));
      for (std::size_t group = 0; group < one.groups(); ++group)
        one.set_scale(
            row, group,
            test::narrow::encode(one.scale(), std::ldexp(1.0, static_cast<int>((row * 5 + group * 3) % 7))));
    }
    one.run();
  }
}

TEST_CASE("scaled_gemm, weights: targets without wgmma multiply by mma.sync") {
  for (const char* target : {"sm_80", "sm_89", "sm_120a"})
    for (const Settings& formats : {kIntegers, kHalfIntegers, kFloats, kNvFloats, kNvHalves})
      Case(with(with(shape(19, 100, 300), formats), {{"d", "f32"}})).run({}, target);
  const Settings zero_points{{"format_a", "bf16"}, {"format_b", "u4"}, {"group", "32"}, {"ldd", "203"}};
  for (const Settings& c :
       {tiles("8", "64", "64", "4", "2", "1"), tiles("32", "128", "128", "4", "4", "1"),
        tiles("64", "256", "64", "8", "3", "1"), tiles("128", "64", "128", "4", "2", "1")})
    for (const Settings& formats : {kIntegers, kFloats, kNvFloats, zero_points})
      Case(with(shape(67, 199, 410), formats)).run(c, "sm_86");
}

TEST_CASE("scaled_gemm, weights: the strategy is a matter of the target, and can be given") {
  const Specs specs;
  const Settings problem = scaled_gemm().problem(with(shape(8, 64, 128), kIntegers));
  const auto chosen = [&](const char* target, const Settings& given) {
    return scaled_gemm().config(specs, Target(target), problem, given).at("strategy");
  };
  CHECK(chosen("sm_90a", {}) == "wgmma");
  CHECK(chosen("sm_90", {}) == "mma_sync");
  CHECK(chosen("sm_90a", {{"strategy", "mma_sync"}}) == "mma_sync");
}

TEST_CASE("scaled_gemm, weights: a scale that is NaN or infinite reaches its column alone") {
  Case floats(with(with(shape(9, 70, 100), kFloats), {{"d", "f32"}}));
  floats.set_scale(69, 3, 0xff);  // of a short last group
  for (const char* target : {"sm_90a", "sm_80"}) {
    const std::vector<double> d = floats.run({}, target);
    CHECK(std::ranges::count_if(d, [](double x) { return std::isnan(x); }) == 9);
  }

  Case integers(with(with(shape(9, 70, 256), kIntegers), {{"d", "f32"}}));
  integers.set_scale(3, 1, 0x7f80);  // infinity
  integers.set_scale(5, 0, 0x7fc0);  // NaN
  for (std::size_t k = 128; k < 256; ++k) {
    integers.set_weight(3, k, 2);
    for (std::size_t row = 0; row < 9; ++row) integers.set_activation(row, k, 0.5);
  }
  const std::vector<double> e = integers.run();
  CHECK(std::ranges::count_if(e, [](double x) { return std::isnan(x); }) == 9);
  CHECK(std::ranges::count_if(e, [](double x) { return std::isinf(x); }) == 9);
}

TEST_CASE("scaled_gemm, weights: all scales of NVFP4, and of the tensor") {
  for (const Settings& formats : {kNvFloats, kNvHalves}) {
    Case one(with(with(shape(5, 130, 64), formats), {{"d", "f32"}}));
    for (std::size_t row = 0; row < 130; ++row)
      for (std::size_t group = 0; group < 4; ++group)
        one.set_scale(row, group, row == 129 && group == 2 ? 0x7F : (row + 3 * group) % 127);
    for (const char* target : {"sm_90a", "sm_89", "sm_80"}) {
      one.set_tensor_scale(3.0F);
      const std::vector<double> d = one.run({}, target);
      CHECK(std::ranges::count_if(d, [](double x) { return std::isnan(x); }) == 5);
      one.set_tensor_scale(0x1p-100F);
      one.run({}, target);
    }
  }
}

TEST_CASE("scaled_gemm, weights: groups of zeros, and the smallest and largest powers of two") {
  Case one(with(with(shape(6, 64, 128), kFloats), {{"d", "f32"}}));
  for (std::size_t row = 0; row < 64; ++row)
    for (std::size_t group = 0; group < 4; ++group) {
      // Of three kinds: zeros times 2^127; 2^-127 times large activations; 2^127 times small ones.
      const std::size_t kind = group % 3;
      one.set_scale(row, group, kind == 1 ? 0 : 0xfe);
      for (std::size_t k = 32 * group; k < 32 * group + 32; ++k) {
        if (kind == 0) one.set_weight(row, k, k % 2 == 0 ? 0 : 8);
        for (std::size_t i = 0; i < 6; ++i)
          one.set_activation(i, k, std::ldexp(static_cast<double>(i + k % 7) - 4, kind == 1 ? 120 : -125));
      }
    }
  one.run();
  one.run({}, "sm_80");
}

TEST_CASE("scaled_gemm, weights: what cannot be served is refused, and the hint says what can") {
  const Specs specs;
  const auto refused = [&](const Settings& problem, const Settings& config, const char* target) {
    return refusal(
        [&] { scaled_gemm().config(specs, Target(target), scaled_gemm().problem(problem), config); });
  };
  const Settings base = with(shape(16, 64, 256), kIntegers);
  CHECK(refused(base, {}, "sm_90a") == "it was accepted");
  CHECK_THAT(refused(base, {}, "sm_75"), ContainsSubstring("sm_80, sm_86"));
  CHECK_THAT(refused(base, {{"strategy", "wgmma"}}, "sm_89"), ContainsSubstring("sm_90a"));
  CHECK_THAT(refused(with(base, {{"format_b", "bf16"}}), {}, "sm_90a"), ContainsSubstring("format_b"));
  CHECK_THAT(refused(with(base, {{"ldb", "256"}}), {}, "sm_90a"), ContainsSubstring("leave ldb out"));
  CHECK_THAT(refused(with(base, {{"lda", "260"}}), {}, "sm_90a"), ContainsSubstring("multiple of 8"));
  CHECK_THAT(refused(with(base, {{"format_b", "mxfp4"}, {"group", "64"}}), {}, "sm_90a"),
             ContainsSubstring("leave group out"));
  CHECK_THAT(refused(base, {{"strategy", "block_scale"}}, "sm_90a"), ContainsSubstring("strategy=wgmma"));
  CHECK_THAT(refused(base, {{"tile_k", "64"}, {"split", "8"}}, "sm_90a"), ContainsSubstring("k-block"));
  CHECK_THAT(refused(with(base, {{"k", "300"}, {"lda", "304"}}), {{"tile_k", "256"}}, "sm_90a"),
             ContainsSubstring("k-blocks must divide"));
  CHECK_THAT(refused(base, {{"warps_n", "2"}}, "sm_90a"), ContainsSubstring("warps_n=4, 8 or 12"));
}
