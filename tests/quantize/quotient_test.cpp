// SPDX-License-Identifier: Apache-2.0
// The quotients of scales are rounded as division rounds them.
#include <bit>

#include "quantize/naive.hpp"

using namespace ptxloom;

namespace {

constexpr float kTops[] = {7, 127, 448, 57344, 2688};  // what magnitudes are divided by, and the reverse
constexpr std::uint32_t kOne = 0x3f80'0000, kMantissas = 1U << 23;

/// A quotient after a step with its remainder.
float corrected(float quotient, float dividend, float divisor, float inverse) {
  return std::fma(std::fma(-quotient, divisor, dividend), inverse, quotient);
}

/// The reciprocal of a chip is off by some units of the last place.
float reciprocal(float divisor, int units) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(1 / divisor) + static_cast<std::uint32_t>(units));
}

}  // namespace

TEST_CASE("quantize: a product, its remainder and a step are the quotient, for all mantissas", "[slow]") {
  std::uint64_t wrong = 0;
  for (const float top : kTops)
    for (std::uint32_t mantissa = 0; mantissa < kMantissas; ++mantissa) {
      const auto magnitude = std::bit_cast<float>(kOne | mantissa);
      const float inverse = 1 / top;
      wrong += corrected(magnitude * inverse, magnitude, top, inverse) == magnitude / top ? 0U : 1U;
      for (const int units : {-2, -1, 0, 1, 2}) {
        const float first = reciprocal(magnitude, units);
        const float better = corrected(first, 1, magnitude, first);
        wrong += corrected(top * better, top, magnitude, better) == top / magnitude ? 0U : 1U;
      }
    }
  CHECK(wrong == 0);
}

TEST_CASE("quantize: scales of random magnitudes over the whole range of f32") {
  std::mt19937 random(Catch::getSeed());
  for (const char* format : {"s8", "s4", "e4m3", "e5m2"}) {
    const Settings problem{{"format", format}, {"rows", "64"},      {"n", "2048"},
                           {"x", "f32"},       {"scales", "group"}, {"group", "16"}};
    std::vector<double> x(std::size_t{64} * 2048, 0.0);
    for (std::size_t i = 0; i < x.size(); i += 16) {
      const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
      x[i + i / 16 % 16] = std::isfinite(value) ? double(value) : 0x1.fffffep127;
    }
    test::run_quantize(problem, {}, {test::quantize_tensor(problem, "x", x)});
  }
}
