// SPDX-License-Identifier: Apache-2.0
// The library's conversions against the tests' own, which are written from the formats' definitions: the
// formats that CUDA's headers lack too.
#include <bit>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "base/numeric_cases.hpp"
#include "ptxloom/numeric.hpp"
#include "support/narrow.hpp"

namespace ptxloom::test::numeric_narrow_test {
namespace {

constexpr Type kTypes[] = {f16, bf16, e4m3, e5m2, e3m2, e2m3, e2m1, ue4m3, ue5m3, ue8m0};

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

TEST_CASE("every pattern of a narrow type has the value of its definition") {
  for (const Type type : kTypes)
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << type.bits; ++bits) {
      CAPTURE(type.name, bits);
      REQUIRE(same(decode(type, bits), narrow::decode(type, bits)));
    }
  std::mt19937 random(Catch::getSeed());
  for (int i = 0; i < 100000; ++i) {
    const std::uint32_t bits = static_cast<std::uint32_t>(random());
    CAPTURE(bits);
    REQUIRE(same(decode(tf32, bits), narrow::decode(tf32, bits)));
  }
}

TEST_CASE("numbers are rounded to the nearest narrow one, ties to even, and out of range as defined") {
  const std::vector<std::uint64_t> cases = rounding_cases(32, Catch::getSeed());
  for (const Type type : {f16, bf16, tf32, e4m3, e5m2, e3m2, e2m3, e2m1})
    for (const auto& [saturation, overflow] : {std::pair{Saturation::none, narrow::Overflow::natural},
                                               {Saturation::satfinite, narrow::Overflow::finite}})
      for (const std::uint64_t bits : cases) {
        const double value = narrow::decode(f32, bits);
        if (encode(type, value, Rounding::rn, saturation) != narrow::encode(type, value, overflow)) {
          CAPTURE(type.name, value, static_cast<int>(saturation));
          REQUIRE(encode(type, value, Rounding::rn, saturation) == narrow::encode(type, value, overflow));
        }
      }
}

}  // namespace ptxloom::test::numeric_narrow_test
