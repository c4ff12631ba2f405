// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "exec/harness.hpp"

// Integer and bit instructions beyond the common ones, against the manual's own loops and sums of 128 bits.
namespace ptxloom::exec::test::scalar_test {
namespace {

__extension__ using int128 = __int128;
using U32 = std::uint32_t;
using S32 = std::int32_t;

std::int64_t low24(U32 a, bool is_signed) {
  const std::int64_t bits = a % (1 << 24);
  return is_signed && bits >= 1 << 23 ? bits - (1 << 24) : bits;
}

std::int64_t product24(U32 a, U32 b, bool is_signed, bool high) {
  const std::int64_t product = low24(a, is_signed) * low24(b, is_signed);
  // floor of product / 2^16, without a shift of something negative
  const std::int64_t quotient = product / 65536 - (product % 65536 < 0 ? 1 : 0);
  return high ? quotient : product;
}

}  // namespace

TEST_CASE("mul24 and mad24 multiply the low 24 bits and give bits 0 or 16 and up") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = integers<U32>(random), b = integers<U32>(random), c = integers<U32>(random);
  for (const bool high : {false, true}) {
    for (const bool is_signed : {false, true}) {
      const std::string words = std::string("24.") + (high ? "hi" : "lo") + (is_signed ? ".s32 " : ".u32 ");
      expect<U32>(
          "mul" + words + "%d, %a, %b;",
          [&](U32 x, U32 y) { return static_cast<U32>(product24(x, y, is_signed, high)); }, a, b);
      expect<U32>(
          "mad" + words + "%d, %a, %b, %c;",
          [&](U32 x, U32 y, U32 z) { return static_cast<U32>(product24(x, y, is_signed, high)) + z; }, a, b,
          c);
    }
  }
  expect<S32>(
      "mad24.hi.sat.s32 %d, %a, %b, %c;",
      [](U32 x, U32 y, U32 z) {
        const std::int64_t sum = product24(x, y, true, true) + static_cast<S32>(z);
        return static_cast<S32>(std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX));
      },
      a, b, c);
}

TEMPLATE_TEST_CASE("sad adds the distance of two values", "", std::uint16_t, std::int16_t, std::uint32_t,
                   std::int32_t, std::uint64_t, std::int64_t) {
  using T = TestType;
  Random random;
  INFO("seed " << random.seed);
  const std::string type =
      std::string(std::is_signed_v<T> ? ".s" : ".u") + std::to_string(8 * sizeof(T)) + " ";
  expect<T>(
      "sad" + type + "%d, %a, %b, %c;",
      [](T a, T b, T c) {
        const int128 distance = a < b ? int128{b} - a : int128{a} - b;
        return static_cast<T>(distance + c);
      },
      integers<T>(random), integers<T>(random), integers<T>(random));
}

TEST_CASE("dp2a multiplies two halves by the low or high two bytes") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = integers<U32>(random), b = integers<U32>(random), c = integers<U32>(random);
  for (const bool high : {false, true}) {
    for (const bool signed_a : {false, true}) {
      for (const bool signed_b : {false, true}) {
        const std::string words = std::string("dp2a.") + (high ? "hi." : "lo.") +
                                  (signed_a ? "s32." : "u32.") + (signed_b ? "s32" : "u32");
        expect<U32>(
            words + " %d, %a, %b, %c;",
            [&](U32 x, U32 y, U32 z) {
              std::int64_t sum = z;
              for (int i = 0; i < 2; ++i) {
                const U32 half = x >> (16 * i) & 0xffff, byte = y >> (8 * (i + (high ? 2 : 0))) & 0xff;
                const std::int64_t left = signed_a ? static_cast<std::int16_t>(half) : S32(half),
                                   right = signed_b ? static_cast<std::int8_t>(byte) : S32(byte);
                sum += left * right;
              }
              return static_cast<U32>(sum);
            },
            a, b, c);
      }
    }
  }
}

TEST_CASE("szext keeps the low bits, bmsk makes a field of ones") {
  Random random;
  INFO("seed " << random.seed);
  std::vector<U32> counts = integers<U32>(random);
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = i % 4 == 0 ? counts[i] : U32(i / 4 % 72);
  const auto a = integers<U32>(random);
  // The manual's pseudo-code, bit by bit.
  const auto szext = [](bool clamp, bool is_signed) {
    return [=](U32 x, U32 n) {
      const U32 width = n & 31;
      if (n >= 32 && clamp) return x;
      U32 result = 0;
      for (U32 bit = 0; bit < 32 && width != 0; ++bit) {
        const U32 from = bit < width ? bit : width - 1;
        if (bit < width || is_signed) result |= (x >> from & 1) << bit;
      }
      return result;
    };
  };
  expect<U32>("szext.clamp.s32 %d, %a, %b;", szext(true, true), a, counts);
  expect<U32>("szext.wrap.s32 %d, %a, %b;", szext(false, true), a, counts);
  expect<U32>("szext.clamp.u32 %d, %a, %b;", szext(true, false), a, counts);
  expect<U32>("szext.wrap.u32 %d, %a, %b;", szext(false, false), a, counts);

  const auto bmsk = [](bool clamp) {
    return [=](U32 start, U32 width) {
      if (!clamp) start %= 32, width %= 32;
      U32 result = 0;
      for (U32 bit = 0; bit < 32; ++bit)
        result |= U32{bit >= start && std::uint64_t{bit} < std::uint64_t{start} + width} << bit;
      return result;
    };
  };
  std::vector<U32> starts(counts.rbegin(), counts.rend());
  std::ranges::shuffle(starts, random.engine);
  expect<U32>("bmsk.clamp.b32 %d, %a, %b;", bmsk(true), starts, counts);
  expect<U32>("bmsk.wrap.b32 %d, %a, %b;", bmsk(false), starts, counts);
}

TEST_CASE("fns finds the n-th bit from a base, up or down") {
  Random random;
  INFO("seed " << random.seed);
  const auto masks = integers<U32>(random);
  std::vector<U32> bases(kSamples), counts(kSamples);
  for (std::size_t i = 0; i < kSamples; ++i) {
    bases[i] = random.below(32);
    counts[i] = random.below(11) - 5;
  }
  expect<U32>(
      "fns.b32 %d, %a, %b, %c;",
      [](U32 mask, U32 base, U32 offset) {  // the manual's pseudo-code
        const auto n = static_cast<S32>(offset);
        if (n == 0) return (mask >> base & 1) != 0 ? base : ~0u;
        std::int64_t pos = base, count = std::abs(std::int64_t{n}) - 1;
        for (; pos >= 0 && pos < 32; pos += n > 0 ? 1 : -1) {
          if ((mask >> pos & 1) == 0) continue;
          if (count-- == 0) return static_cast<U32>(pos);
        }
        return ~0u;
      },
      masks, bases, counts);
  CHECK(each_thread<U32>("fns.b32 %d, 0xaaaaaaaa, 2, -1;", std::vector<U32>(64))[0] == 1);
  CHECK(each_thread<U32>("fns.b32 %d, 0xaaaaaaaa, 3, 1;", std::vector<U32>(64))[0] == 3);
}

TEST_CASE("testp tells the kinds of floats apart; zeros are normal") {
  Random random;
  INFO("seed " << random.seed);
  const auto check = [&](const std::string& kind, auto holds) {
    const std::string statements = " %p, %x; selp.u32 %d, 7, 5, %p;",
                      f32 = ".reg .pred %p; .reg .f32 %x; mov.b32 %x, %a; ",
                      f64 = ".reg .pred %p; .reg .f64 %x; mov.b64 %x, %a; ";
    expect<U32>(
        f32 + "testp." + kind + ".f32" + statements,
        [&](float a) { return holds(std::fpclassify(a)) ? 7u : 5u; }, floats32(random));
    expect<U32>(
        f64 + "testp." + kind + ".f64" + statements,
        [&](double a) { return holds(std::fpclassify(a)) ? 7u : 5u; }, floats64(random));
  };
  check("finite", [](int kind) { return kind != FP_INFINITE && kind != FP_NAN; });
  check("infinite", [](int kind) { return kind == FP_INFINITE; });
  check("number", [](int kind) { return kind != FP_NAN; });
  check("notanumber", [](int kind) { return kind == FP_NAN; });
  check("normal", [](int kind) { return kind == FP_NORMAL || kind == FP_ZERO; });
  check("subnormal", [](int kind) { return kind == FP_SUBNORMAL; });
}

TEST_CASE("slct and comparisons of f16 flush subnormals where asked") {
  const auto select = [](const std::string& ftz, float c) {
    return each_thread<U32>("slct" + ftz + ".b32.f32 %d, 1, 2, %a;", std::vector<float>(64, c))[0];
  };
  CHECK(select("", -1e-40f) == 2);
  CHECK(select(".ftz", -1e-40f) == 1);
  CHECK(select(".ftz", -1e-30f) == 2);
  CHECK(select("", -0.0f) == 1);
  CHECK(select("", std::nanf("")) == 2);
  const auto equal = [](const std::string& ftz, std::uint16_t a) {
    return each_thread<U32>(".reg .pred %p; .reg .b16 %z; mov.b16 %z, 0; setp.eq" + ftz +
                                ".f16 %p, %a, %z; selp.u32 %d, 1, 0, %p;",
                            std::vector<std::uint16_t>(64, a))[0];
  };
  CHECK(equal("", 0x8001) == 0);
  CHECK(equal(".ftz", 0x8001) == 1);
  CHECK(equal(".ftz", 0x0400) == 0);
}

TEST_CASE("mov.v2 and mov.v4 move vectors, also onto themselves") {
  const std::vector<U32> a(64, 11), b(64, 22);
  CHECK(each_thread<U32>("mov.v2.u32 {%a, %b}, {%b, %a}; shl.b32 %a, %a, 8; or.b32 %d, %a, %b;", a, b)[5] ==
        (22 << 8 | 11));
  CHECK(each_thread<U32>(
            ".reg .b32 %x<4>; mov.v4.b32 {%x0, %x1, %x2, %x3}, {%a, %b, %b, %a}; shl.b32 %x0, %x0, 8; or.b32 "
            "%x0, %x0, "
            "%x1; shl.b32 %x2, %x2, 24; shl.b32 %x3, %x3, 16; or.b32 %x0, %x0, %x2; or.b32 %d, %x0, %x3;",
            a, b)[63] == (22u << 24 | 11 << 16 | 11 << 8 | 22));
}

}  // namespace ptxloom::exec::test::scalar_test
