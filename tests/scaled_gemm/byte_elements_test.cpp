// SPDX-License-Identifier: Apache-2.0
// scaled_gemm with weights of 8 bits in the executor: int8, fp8 with scales of groups, and MXFP8 beside bf16
// and f16.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "scaled_gemm/weight_case.hpp"

namespace ptxloom::scaled_gemm_test::byte_elements {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::shape;
using test::with;

Settings formats(const char* a, const char* b, const Settings& more = {}) {
  return with({{"format_a", a}, {"format_b", b}, {"d", "f32"}}, more);
}

Settings tiles(const char* m, const char* n, const char* k, const char* warps, const char* stages,
               const char* split) {
  return {{"tile_m", m},      {"tile_n", n},      {"tile_k", k},
          {"warps_n", warps}, {"stages", stages}, {"split", split}};
}

const std::vector<Settings> kAll{formats("bf16", "s8"),
                                 formats("f16", "s8"),
                                 formats("bf16", "e4m3"),
                                 formats("f16", "e4m3"),
                                 formats("bf16", "e5m2"),
                                 formats("bf16", "mxfp8_e4m3"),
                                 formats("bf16", "mxfp8_e5m2"),
                                 formats("f16", "s8", {{"scale_b", "f32"}}),
                                 formats("bf16", "e4m3", {{"scale_b", "f32"}, {"group", "row"}})};

}  // namespace

TEST_CASE("scaled_gemm, weights of 8 bits: shapes that no tile divides, whose padding holds anything") {
  for (const Settings& one : kAll) {
    Case(with(shape(1, 1, 1), one)).run();
    Case two(with(shape(19, 75, 301), with(one, {{"ldd", "80"}})));
    two.run();
    two.run({}, "sm_80");
    two.run({}, "sm_89");
  }
}

TEST_CASE("scaled_gemm, weights of 8 bits: groups, warpgroups, and clusters that divide k") {
  for (const char* group : {"16", "32", "64", "256", "row"})
    for (const char* b : {"s8", "e4m3"})
      Case(with(shape(11, 70, 600), formats("bf16", b, {{"group", group}})))
          .run(tiles("16", "64", "128", "4", "3", "1"));
  for (const Settings& c :
       {tiles("8", "64", "128", "4", "2", "4"), tiles("16", "128", "64", "8", "3", "8"),
        tiles("32", "128", "128", "4", "2", "2"), tiles("96", "192", "64", "12", "2", "1")})
    for (const Settings& one : kAll) Case(with(shape(37, 131, 1030), one)).run(c);
  Case(with(shape(140, 200, 160), formats("bf16", "s8", {{"d", "bf16"}})))
      .run(tiles("32", "64", "64", "4", "4", "1"));
  Case(with(shape(21, 131, 2100), formats("bf16", "s8")))
      .run(with(tiles("24", "64", "64", "4", "3", "1"), {{"stream_k", "yes"}}));
}

TEST_CASE("scaled_gemm, weights of 8 bits: all codes, NaN and infinities as the formats have them") {
  for (const char* b : {"s8", "e4m3", "e5m2", "mxfp8_e4m3"}) {
    Case one(with(shape(3, 256, 64), formats("bf16", b)));
    for (std::size_t row = 0; row < 256; ++row) {  // each row has one code, in one place
      for (std::size_t k = 0; k < 64; ++k) one.set_weight(row, k, 0);
      one.set_weight(row, row % 64, static_cast<unsigned>(row));
    }
    for (std::size_t k = 0; k < 64; ++k)
      for (std::size_t i = 0; i < 3; ++i) one.set_activation(i, k, double(i + 1));
    for (const char* target : {"sm_90a", "sm_80"}) {
      const std::vector<double> d = one.run({}, target);
      const auto nan = std::ranges::count_if(d, [](double x) { return std::isnan(x); });
      const auto infinite = std::ranges::count_if(d, [](double x) { return std::isinf(x); });
      const bool wide = std::string_view(b) == "e5m2";
      CHECK(nan == (std::string_view(b) == "s8" ? 0 : wide ? 18 : 6));
      CHECK(infinite == (wide ? 6 : 0));
    }
  }
}

TEST_CASE("scaled_gemm, weights of 8 bits: what cannot be served is refused") {
  const auto refused = [](const Settings& more) {
    return refusal([&] { scaled_gemm().problem(with(shape(16, 64, 256), more)); });
  };
  CHECK_THAT(refused(formats("e4m3", "s8")), ContainsSubstring("mxfp4, nvfp4, s4, u4"));
  CHECK_THAT(refused(formats("s8", "s8")), ContainsSubstring("one of s4, u4"));
  CHECK_THAT(refused(formats("mxfp8_e4m3", "s8")), ContainsSubstring("give format_b one of"));
}

}  // namespace ptxloom::scaled_gemm_test::byte_elements
