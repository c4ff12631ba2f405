// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <limits>

#include "exec/harness.hpp"

// The rarer forms of floating arithmetic: three operands, packed f32, half precision with modifiers, gross
// approximations. Reference: the host's arithmetic, and double for the 16-bit types.
namespace ptxloom::exec::test::float_forms_test {
namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

float from_f16(U32 bits) { return static_cast<float>(std::bit_cast<_Float16>(static_cast<U16>(bits))); }
U16 to_f16(double value) {
  return value != value ? U16{0x7fff} : std::bit_cast<U16>(static_cast<_Float16>(value));
}

// The manual's two_inputs_min and max, on bits.
float choose(bool is_min, bool nan, float a, float b) {
  const float canonical = std::bit_cast<float>(0x7fff'ffff);
  if (std::isnan(a) && std::isnan(b)) return canonical;
  if (std::isnan(a)) return nan ? canonical : b;
  if (std::isnan(b)) return nan ? canonical : a;
  const bool below = a < b || (a == b && std::signbit(a) > std::signbit(b));
  return below == is_min ? a : b;
}

}  // namespace

TEST_CASE("min and max take three values, magnitudes, and the product of signs") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = floats32(random), b = floats32(random), c = floats32(random);
  for (const bool is_min : {false, true}) {
    for (const bool nan : {false, true}) {
      const std::string op = std::string(is_min ? "min" : "max") + (nan ? ".NaN" : "");
      expect<float>(
          op + ".f32 %d, %a, %b, %c;",
          [&](float x, float y, float z) { return choose(is_min, nan, choose(is_min, nan, x, y), z); }, a, b,
          c);
      expect<float>(
          op + ".abs.f32 %d, %a, %b, %c;",
          [&](float x, float y, float z) {
            return choose(is_min, nan, choose(is_min, nan, std::fabs(x), std::fabs(y)), std::fabs(z));
          },
          a, b, c);
      expect<float>(
          op + ".xorsign.abs.f32 %d, %a, %b;",
          [&](float x, float y) {
            const float result = choose(is_min, nan, std::fabs(x), std::fabs(y));
            return std::isnan(result)
                       ? result
                       : std::copysign(result, std::signbit(x) != std::signbit(y) ? -1.f : 1.f);
          },
          a, b);
    }
  }
  expect<U32>(
      "max.NaN.xorsign.abs.f16x2 %d, %a, %b;",
      [](U32 x, U32 y) {
        U32 result = 0;
        for (int i = 0; i < 2; ++i) {
          const U32 p = x >> (16 * i) & 0xffff, q = y >> (16 * i) & 0xffff;
          const float largest = choose(false, true, std::fabs(from_f16(p)), std::fabs(from_f16(q)));
          const U32 bits = std::isnan(largest) ? 0x7fff : U32{to_f16(largest)} | ((p ^ q) & 0x8000);
          result |= bits << (16 * i);
        }
        return result;
      },
      integers<U32>(random), integers<U32>(random));
}

TEST_CASE("packed f32 are two sums, products and fma") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = floats32(random), b = floats32(random), c = floats32(random);
  const auto check = [&](const std::string& op, auto f) {
    const std::string pack =
        ".reg .b64 %x, %y, %z; mov.b64 %x, {%a, %b}; mov.b64 %y, {%b, %c}; mov.b64 %z, {%c, %a}; ";
    const std::string flushed_pack =
        pack + op + (op.starts_with("fma") ? " %x, %x, %y, %z; " : " %x, %x, %y; ");
    expect<float>(
        flushed_pack + "mov.b64 {%d, _}, %x;", [&](float x, float y, float z) { return f(x, y, z); }, a, b,
        c);
    expect<float>(
        flushed_pack + "mov.b64 {_, %d}, %x;", [&](float x, float y, float z) { return f(y, z, x); }, a, b,
        c);
  };
  const auto flush = [](float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; };
  check("add.f32x2", [](float x, float y, float) { return x + y; });
  check("sub.f32x2", [](float x, float y, float) { return x - y; });
  check("mul.ftz.f32x2", [&](float x, float y, float) { return flush(flush(x) * flush(y)); });
  check("fma.rn.f32x2", [](float x, float y, float z) { return std::fma(x, y, z); });
}

TEST_CASE("half-precision fma cuts off, saturates, and knows the out-of-bounds NaN") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = floats<U16>(random, 10), b = floats<U16>(random, 10), c = floats<U16>(random, 10);
  const auto fma = [](U16 x, U16 y, U16 z) {  // exact in double, then rounded once but for subnormal sums
    return std::fma(double{from_f16(x)}, double{from_f16(y)}, double{from_f16(z)});
  };
  expect<U16>(
      "fma.rn.relu.f16 %d, %a, %b, %c;",
      [&](U16 x, U16 y, U16 z) {
        return std::signbit(fma(x, y, z)) && !std::isnan(fma(x, y, z)) ? U16{0} : to_f16(fma(x, y, z));
      },
      a, b, c);
  expect<U16>(
      "fma.rn.sat.f16 %d, %a, %b, %c;",
      [&](U16 x, U16 y, U16 z) {
        const double value = fma(x, y, z);
        return std::isnan(value) || value <= 0 ? U16{0} : to_f16(std::min(value, 1.0));
      },
      a, b, c);
  // Whatever its pattern is: one that makes a zero of a sum with it, and every other NaN stays NaN.
  std::vector<U16> nan(64 * 33);
  for (std::size_t i = 0; i < nan.size(); ++i) nan[i] = static_cast<U16>(0x7c01 + i % 0x3ff);
  const std::vector<U16> one(nan.size(), 0x3c00);
  for (const std::string operands : {"%a, %b, %b", "%b, %a, %b", "%b, %b, %a"}) {
    const auto out = each_thread<U16>("fma.rn.oob.f16 %d, " + operands + ";", nan, one);
    std::size_t zeros = 0;
    for (std::size_t i = 0; i < 0x3ff; ++i) {
      zeros += out[i] == 0;
      CHECK((out[i] == 0 || out[i] == 0x7fff));
    }
    CHECK(zeros == (operands.ends_with("%a") ? 0 : 1));  // a factor, not the addend
  }
  // Halves of a pair are told apart, and either sign is one.
  const auto pair = each_thread<U32>("fma.rn.oob.bf16x2 %d, %a, %b, %b;", std::vector<U32>(64, 0x7ff7'3f80),
                                     std::vector<U32>(64, 0x4000'4040));
  CHECK(pair[3] == 0x0000'40c0);
  CHECK(each_thread<U16>("fma.rn.oob.f16 %d, %a, %a, %a;", std::vector<U16>(64, 0xfff7))[0] == 0);
}

TEST_CASE("the gross approximations of f64 look at the upper word and write no other") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = floats64(random);
  const auto check = [&](const std::string& op, double (*f)(double)) {
    const auto out = each_thread<U64>(op + ".approx.ftz.f64 %d, %a;", a);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const U64 upper = std::bit_cast<U64>(a[i]) & 0xffff'ffff'0000'0000;
      const double input = std::bit_cast<double>(upper),
                   expected = f(std::fpclassify(input) == FP_SUBNORMAL ? std::copysign(0.0, input) : input);
      CAPTURE(op, a[i], expected, out[i]);
      REQUIRE((out[i] & 0xffff'ffff) == 0);
      const auto got = std::bit_cast<double>(out[i]);
      if (std::isnan(expected)) {
        REQUIRE(out[i] == 0x7fff'ffff'0000'0000);
      } else if (std::fpclassify(expected) == FP_SUBNORMAL) {
        REQUIRE(got == 0);
      } else if (std::isinf(expected) || expected == 0) {
        REQUIRE(std::bit_cast<U64>(got) == std::bit_cast<U64>(expected));
      } else {
        REQUIRE(std::fabs(got / expected - 1) < 0x1p-19);
      }
    }
  };
  check("rcp", [](double x) { return 1 / x; });
  check("rsqrt", [](double x) { return 1 / std::sqrt(x); });
}

TEST_CASE("div.approx by more than 2^126 is a zero") {
  const auto divide = [](float a, float b) {
    return each_thread<float>("div.approx.f32 %d, %a, %b;", std::vector<float>(64, a),
                              std::vector<float>(64, b))[0];
  };
  CHECK(divide(1e30f, 0x1p126f) == 1e30f / 0x1p126f);
  CHECK(same(divide(1e30f, -0x1.000002p126f), -0.0f));
  CHECK(std::isnan(divide(std::numeric_limits<float>::infinity(), 0x1p127f)));
  CHECK(same(divide(-5, std::numeric_limits<float>::infinity()), -0.0f));
}

}  // namespace ptxloom::exec::test::float_forms_test
