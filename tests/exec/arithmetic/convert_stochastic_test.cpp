// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>

#include "exec/harness.hpp"

// cvt.rs: whatever the random bits, the result is one of the two values that enclose the input; and over all
// random bits it goes away from zero as often as the discarded fraction says. Neighbours come from a walk
// over all values of the format, not from rounding.
namespace ptxloom::exec::test::convert_stochastic_test {
namespace {

using U32 = std::uint32_t;

struct Format {
  std::string name;
  int lanes;   // x2 or x4
  int stride;  // bits from one element to the next
  U32 max_finite;
  int random_bits;  // that an element has
};
const Format kFormats[] = {{"f16", 2, 16, 0x7bff, 13}, {"bf16", 2, 16, 0x7f7f, 16}, {"e4m3", 4, 8, 0x7e, 16},
                           {"e5m2", 4, 8, 0x7b, 16},   {"e2m3", 4, 8, 0x1f, 16},    {"e3m2", 4, 8, 0x1f, 16},
                           {"e2m1", 4, 4, 0x7, 16}};

double value_of(const Format& format, U32 bits) { return narrow::decode(*find_type(format.name), bits); }

/// All elements of the result hold what `x` became, given the random bits in %b.
std::string convert_all(const Format& format, const std::string& words) {
  const std::string opcode =
      "cvt.rs" + words + "." + format.name + "x" + std::to_string(format.lanes) + ".f32 ";
  if (format.lanes == 2) return opcode + "%d, %a, %a, %b;";
  if (format.name == "e2m1")
    return ".reg .b16 %h; " + opcode + "%h, {%a, %a, %a, %a}, %b; cvt.u32.u16 %d, %h;";
  return opcode + "%d, {%a, %a, %a, %a}, %b;";
}

U32 element(const Format& format, U32 bits, int i) {
  const U32 mask = format.stride == 16 ? 0xffff : (1u << format.stride) - 1;
  return bits >> (i * format.stride) & mask;
}

/// The largest value of the format whose magnitude is not above |x|.
U32 below(const Format& format, double x) {
  U32 low = 0, high = format.max_finite;
  while (low < high) {
    const U32 middle = (low + high + 1) / 2;
    if (value_of(format, middle) <= std::fabs(x))
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

}  // namespace

TEST_CASE("stochastic rounding gives one of the two values around the input") {
  Random random;
  INFO("seed " << random.seed);
  for (const Format& format : kFormats) {
    std::vector<float> in(kSamples);
    std::vector<U32> noise(kSamples);
    for (std::size_t i = 0; i < kSamples; ++i) {
      const double largest = value_of(format, format.max_finite);
      in[i] = static_cast<float>(std::ldexp(random.uniform(-1, 1), -static_cast<int>(random.below(24))) *
                                 largest);
      noise[i] = static_cast<U32>(random.bits());
    }
    const auto out = each_thread<U32>(convert_all(format, ".satfinite"), in, noise);
    const int sign_bit = format.name == "e2m1"                            ? 3
                         : format.name == "e2m3" || format.name == "e3m2" ? 5
                                                                          : format.stride - 1;
    for (std::size_t i = 0; i < kSamples; ++i) {
      const U32 down = below(format, in[i]);
      for (int e = 0; e < format.lanes; ++e) {
        const U32 got = element(format, out[i], e), magnitude = got & ~(1u << sign_bit);
        CAPTURE(format.name, in[i], noise[i], e, got, down);
        if (magnitude != down && magnitude != down + 1) FAIL("no neighbour of the input");
        if (value_of(format, down) == std::fabs(in[i]) && magnitude != down) FAIL("an exact value moved");
        if ((got >> sign_bit & 1) != U32{std::signbit(in[i])}) FAIL("wrong sign");
      }
    }
  }
}

TEST_CASE("stochastic rounding goes up for as many random bits as the discarded fraction says") {
  Random random;
  INFO("seed " << random.seed);
  for (const Format& format : kFormats) {
    std::vector<U32> noise(1 << 16);  // each pattern once in either half
    for (U32 i = 0; i < noise.size(); ++i) noise[i] = i | (i ^ 0x5a5a) << 16;
    for (int trial = 0; trial < 6; ++trial) {
      const U32 down = 1 + random.below(format.max_finite - 1);
      const double low = value_of(format, down), high = value_of(format, down + 1);
      const double fraction = static_cast<double>(random.below(256)) / 256;  // exact in f32
      const auto x = static_cast<float>(low + (high - low) * fraction);
      if (double{x} != low + (high - low) * fraction) continue;
      const auto out =
          each_thread<U32>(convert_all(format, ".satfinite"), std::vector<float>(noise.size(), -x), noise);
      for (int e = 0; e < format.lanes; ++e) {
        std::size_t ups = 0;
        for (const U32 bits : out) ups += value_of(format, element(format, bits, e)) == -high;
        CAPTURE(format.name, x, fraction, e);
        CHECK(static_cast<double>(ups) == fraction * 65536);
      }
    }
  }
}

TEST_CASE("stochastic rounding carries at the threshold, from the random bits the manual names") {
  // 1 + 3/4 of the distance to the next value of each format, so that a quarter of the range does not carry.
  const auto one = [](const std::string& statements, float x, U32 noise) {
    return each_thread<U32>(statements, std::vector<float>(64, x), std::vector<U32>(64, noise))[7];
  };
  const Format &f16 = kFormats[0], &bf16 = kFormats[1], &e4m3 = kFormats[2], &e2m1 = kFormats[6];
  const float x = 1 + 0.75f * 0x1p-10f;
  // A fraction of the last bit carries with all ones only, 13 or 16 of them.
  CHECK(one(convert_all(f16, ""), 1 + 0x1p-23f, 0x1ffe'1fff) == 0x3c00'3c01);
  CHECK(one(convert_all(bf16, ""), 1 + 0x1p-23f, 0xffff'fffe) == 0x3f81'3f80);
  // 13 low bits of each half.
  CHECK(one(convert_all(f16, ""), x, 0x0800'07ff) == 0x3c01'3c00);
  CHECK(one(convert_all(f16, ""), x, 0xe7ff'e800) == 0x3c00'3c01);
  CHECK(one(convert_all(bf16, ""), 1 + 0.75f * 0x1p-7f, 0x4000'3fff) == 0x3f81'3f80);
  // Both elements of a half take all its 16 bits.
  CHECK(one(convert_all(e4m3, ".satfinite"), 1 + 0.75f * 0x1p-3f, 0x4000'3fff) == 0x3939'3838);
  // The upper bytes of both halves for the upper pair, the lower bytes for the lower.
  CHECK(one(convert_all(e2m1, ".satfinite"), 1 + 0.75f * 0.5f, 0x4000'00ff) == 0x3322 - 0);
  CHECK(one(convert_all(e2m1, ".satfinite"), 1 + 0.75f * 0.5f, 0x3f40'ff00) == 0x2233);
}

TEST_CASE("stochastic rounding of what is out of range, NaN and negative") {
  const auto pair = [](const std::string& words, float x, U32 noise) {
    return each_thread<U32>("cvt.rs" + words + ".f16x2.f32 %d, %a, %a, %b;", std::vector<float>(64, x),
                            std::vector<U32>(64, noise))[0] &
           0xffff;
  };
  CHECK(pair("", 65519, 0) == 0x7bff);
  CHECK(pair("", 65519, 0x1fff) == 0x7c00);
  CHECK(pair(".satfinite", 65519, 0x1fff) == 0x7bff);
  CHECK(pair("", -1e6f, 0) == 0xfc00);
  CHECK(pair(".satfinite", -1e6f, 0) == 0xfbff);
  CHECK(pair("", std::nanf(""), 0) == 0x7fff);
  CHECK(pair(".relu", std::nanf(""), 0) == 0x7fff);
  CHECK(pair(".relu", -3, 0) == 0);
  CHECK(pair("", -0.0f, 0x1fff) == 0x8000);
  CHECK(pair("", 1e-30f, 0x1fff) == 0);
  const auto four = [](const std::string& type, float x) {
    return each_thread<U32>("cvt.rs.satfinite." + type + "x4.f32 %d, {%a, 0f00000000, %a, 0f3F800000}, %b;",
                            std::vector<float>(64, x), std::vector<U32>(64))[0];
  };
  CHECK(four("e4m3", 1e9f) == 0x7e00'7e38);
  CHECK(four("e4m3", std::nanf("")) == 0x7f00'7f38);
  CHECK(four("e2m3", -1e9f) == 0x3f00'3f08);
  CHECK(four("e3m2", std::nanf("")) == 0x1f00'1f0c);
}

}  // namespace ptxloom::exec::test::convert_stochastic_test
