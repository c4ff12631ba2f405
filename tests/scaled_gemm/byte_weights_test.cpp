// SPDX-License-Identifier: Apache-2.0
// scaled_gemm with 4-bit weights and activations of 8 bits in the executor: the same cases as of 16 bits, and
// runs of k whose products are promoted, with scales that are far apart.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "scaled_gemm/weight_case.hpp"

namespace ptxloom::scaled_gemm_test::byte_weights {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::shape;
using test::with;

const Settings kIntegers{{"format_a", "e4m3"}, {"format_b", "s4"}, {"d", "f32"}};
const Settings kBytes{{"format_a", "s8"}, {"format_b", "s4"}, {"d", "f32"}};
const Settings kFloats{{"format_a", "e4m3"}, {"format_b", "mxfp4"}, {"d", "f32"}};

Settings tiles(const char* m, const char* n, const char* k, const char* warps, const char* stages,
               const char* split) {
  return {{"tile_m", m},      {"tile_n", n},      {"tile_k", k},
          {"warps_n", warps}, {"stages", stages}, {"split", split}};
}

}  // namespace

TEST_CASE("scaled_gemm, bytes: shapes that no tile divides, whose padding holds anything") {
  for (const Settings& formats : {kIntegers, kBytes, kFloats}) {
    Case(with(shape(1, 1, 1), formats)).run();
    Case(with(with(shape(17, 200, 410), formats), {{"lda", "432"}, {"ldd", "208"}})).run();
    Case(with(with(shape(70, 136, 160), formats), {{"d", "bf16"}})).run();
  }
}

TEST_CASE("scaled_gemm, bytes: groups of all lengths, and k-blocks of all depths") {
  for (const char* group : {"32", "64", "128", "256", "1024"})
    for (const char* depth : {"64", "128", "256"})
      for (const Settings& formats : {kIntegers, kBytes})
        Case(with(with(shape(11, 70, 700), formats), {{"group", group}}))
            .run(tiles("16", "64", depth, "4", "3", "1"));
  for (const char* depth : {"64", "128", "256"})
    Case(with(shape(9, 70, 700), kFloats)).run(tiles("16", "64", depth, "4", "3", "1"));
}

TEST_CASE("scaled_gemm, bytes: divisions among warpgroups, clusters that divide k, and stores by TMA") {
  for (const Settings& formats : {kIntegers, kBytes, kFloats}) {
    for (const Settings& c :
         {tiles("8", "64", "128", "4", "2", "4"), tiles("16", "128", "64", "8", "3", "8"),
          tiles("24", "128", "128", "4", "2", "2"), tiles("48", "192", "64", "12", "2", "1")})
      Case(with(shape(37, 131, 1030), formats)).run(c);
    Case(with(with(shape(140, 200, 160), formats), {{"d", "bf16"}}))
        .run(tiles("32", "64", "128", "4", "3", "1"));
    Case(with(with(shape(117, 136, 256), formats), {{"d", "f16"}}))
        .run(tiles("112", "128", "128", "8", "3", "1"));
  }
}

TEST_CASE("scaled_gemm, bytes: targets without wgmma multiply by mma.sync") {
  Case(with(shape(19, 100, 300), kBytes)).run({}, "sm_80");
  for (const char* target : {"sm_89", "sm_120a"})
    for (const Settings& formats : {kIntegers, kBytes, kFloats})
      Case(with(shape(19, 100, 300), formats)).run({}, target);
  for (const Settings& formats : {kIntegers, kBytes, kFloats})
    for (const Settings& c :
         {tiles("8", "64", "64", "4", "2", "1"), tiles("64", "128", "128", "8", "3", "1")})
      Case(with(with(shape(67, 199, 410), formats), {{"d", "bf16"}})).run(c, "sm_89");
}

TEST_CASE("scaled_gemm, bytes: all codes of an element, each scale in its own row and group") {
  for (const Settings& formats : {kIntegers, kBytes, kFloats}) {
    Case one(with(shape(5, 67, 288), with(formats, {{"group", "32"}})));
    for (std::size_t row = 0; row < 67; ++row) {
      for (std::size_t k = 0; k < 288; ++k) one.set_weight(row, k, static_cast<unsigned>((row + 3 * k) % 16));
      for (std::size_t group = 0; group < one.groups(); ++group)
        one.set_scale(
            row, group,
            test::narrow::encode(one.scale(), std::ldexp(1.0, static_cast<int>((row * 5 + group * 3) % 5))));
    }
    one.run();
    one.run({}, "sm_89");
  }
}

TEST_CASE("scaled_gemm, bytes: the largest sums of integers") {
  Case one(with(shape(9, 64, 256), kBytes));
  for (std::size_t k = 0; k < 256; ++k) {
    for (std::size_t row = 0; row < 64; ++row) one.set_weight(row, k, row % 2 == 0 ? 8 : 7);
    for (std::size_t row = 0; row < 9; ++row) one.set_activation(row, k, row % 2 == 0 ? -128 : 127);
  }
  one.run();
  one.run({}, "sm_80");
}

TEST_CASE("scaled_gemm, bytes: scales of a run that are far apart, and the ends of their range") {
  // One activation of each row is not zero, so each element of D is one product, of any group.
  Case one(with(shape(64, 80, 128), kFloats));
  for (std::size_t row = 0; row < 80; ++row)
    for (std::size_t group = 0; group < 4; ++group)
      one.set_scale(row, group, row < 60 ? 127 - (group == row % 4 ? 0 : row / 4) : group == 2 ? row % 3 : 0);
  for (std::size_t i = 0; i < 64; ++i)
    for (std::size_t k = 0; k < 128; ++k) one.set_activation(i, k, k == 2 * i ? 1 : 0);
  one.run();
  one.run({}, "sm_89");
  Case large(with(shape(3, 64, 128), kFloats));
  for (std::size_t row = 0; row < 64; ++row)
    for (std::size_t group = 0; group < 4; ++group) large.set_scale(row, group, 0xfe - group);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 128; ++k) large.set_activation(i, k, 0x1p-9);
  large.run();
}

TEST_CASE("scaled_gemm, bytes: a weight that is far below its run is rounded") {
  // 6 * 2^-17 of a run whose largest scale is 1 is 1.5 units of the table's last place, which becomes 2.
  Case one(with(shape(1, 64, 128), kFloats));
  for (std::size_t row = 0; row < 64; ++row) {
    for (std::size_t group = 0; group < 4; ++group) one.set_scale(row, group, group == 0 ? 127 : 110);
    for (std::size_t k = 0; k < 128; ++k) one.set_weight(row, k, k == 40 ? 7 : 0);
  }
  for (std::size_t k = 0; k < 128; ++k) one.set_activation(0, k, 1);
  for (const char* target : {"sm_90a", "sm_89"})
    for (const double value : one.values({}, target)) {
      INFO(target);
      CHECK(value == 0x1p-14 * one.row_scale(0));
    }
}

TEST_CASE("scaled_gemm, bytes: a scale that is NaN reaches its column alone") {
  for (const Settings& formats : {kIntegers, kBytes, kFloats}) {
    Case one(with(shape(9, 70, 100), formats));
    one.set_scale(69, one.groups() - 1, formats == kFloats ? 0xff : 0x7fc0);
    for (const char* target : {"sm_90a", "sm_89"}) {
      const std::vector<double> d = one.run({}, target);
      CHECK(std::ranges::count_if(d, [](double x) { return std::isnan(x); }) == 9);
    }
  }
}

TEST_CASE("scaled_gemm, bytes: what cannot be served is refused") {
  const Specs specs;
  const auto refused = [&](const Settings& problem, const char* target) {
    return refusal([&] { scaled_gemm().config(specs, Target(target), scaled_gemm().problem(problem), {}); });
  };
  const Settings base = with(shape(16, 64, 256), kIntegers);
  CHECK(refused(base, "sm_90a") == "it was accepted");
  CHECK_THAT(refused(base, "sm_86"), ContainsSubstring("sm_89"));
  CHECK(refused(with(base, {{"format_a", "s8"}}), "sm_80") == "it was accepted");
  CHECK_THAT(refused(with(base, {{"format_a", "s8"}, {"format_b", "mxfp4"}}), "sm_90a"),
             ContainsSubstring("one of s4"));
  CHECK_THAT(refused(with(base, {{"group", "16"}}), "sm_90a"), ContainsSubstring("32 elements"));
}

}  // namespace ptxloom::scaled_gemm_test::byte_weights
