// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>

#include "exec/harness.hpp"

// Reference: casts of the host, _Float16 for f16, and the arithmetic of the bits for bf16 and tf32. The
// narrow formats have tests of their own in tests/base; here it matters that operands and modifiers arrive.
namespace ptxloom::exec::test::convert_test {
namespace {

std::uint16_t to_f16(double value) {
  return value != value ? std::uint16_t{0x7fff} : std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
}
std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace

TEST_CASE("integers are truncated, extended and clamped") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = integers<std::int32_t>(random);
  const auto wide = integers<std::int64_t>(random);
  expect<std::int64_t>("cvt.s64.s32 %d, %a;", [](std::int32_t x) { return std::int64_t{x}; }, a);
  expect<std::uint64_t>(
      "cvt.u64.u32 %d, %a;", [](std::int32_t x) { return std::uint64_t{static_cast<std::uint32_t>(x)}; }, a);
  expect<std::int32_t>(
      "cvt.s32.s64 %d, %a;", [](std::int64_t x) { return static_cast<std::int32_t>(x); }, wide);
  expect<std::int32_t>(
      "cvt.s8.s32 %d, %a;", [](std::int32_t x) { return std::int32_t{static_cast<std::int8_t>(x)}; }, a);
  expect<std::uint32_t>(
      "cvt.u16.u64 %d, %a;", [](std::int64_t x) { return std::uint32_t{static_cast<std::uint16_t>(x)}; },
      wide);
  expect<std::int32_t>("cvt.sat.s8.s32 %d, %a;", [](std::int32_t x) { return std::clamp(x, -128, 127); }, a);
  expect<std::uint32_t>(
      "cvt.sat.u8.s32 %d, %a;",
      [](std::int32_t x) { return static_cast<std::uint32_t>(std::clamp(x, 0, 255)); }, a);
}

TEST_CASE("a source or destination register may be wider than its type") {
  Random random;
  INFO("seed " << random.seed);
  const auto wide = integers<std::uint64_t>(random);
  expect<std::uint32_t>(
      "cvt.u32.u16 %d, %a;", [](std::uint64_t x) { return static_cast<std::uint32_t>(x & 0xffff); }, wide);
  expect<std::int64_t>(
      "cvt.s16.s32 %d, %a;", [](std::int32_t x) { return std::int64_t{static_cast<std::int16_t>(x)}; },
      integers<std::int32_t>(random));
}

TEST_CASE("floats become integers in the direction asked, within the range") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = floats32(random);
  const auto clamp = [](double value) {
    return value != value ? 0 : static_cast<std::int32_t>(std::clamp(value, -2147483648.0, 2147483647.0));
  };
  expect<std::int32_t>("cvt.rzi.s32.f32 %d, %a;", [&](float x) { return clamp(std::trunc(double{x})); }, a);
  expect<std::int32_t>(
      "cvt.rni.s32.f32 %d, %a;", [&](float x) { return clamp(std::nearbyint(double{x})); }, a);
  expect<std::int32_t>("cvt.rmi.s32.f32 %d, %a;", [&](float x) { return clamp(std::floor(double{x})); }, a);
  expect<std::int32_t>("cvt.rpi.s32.f32 %d, %a;", [&](float x) { return clamp(std::ceil(double{x})); }, a);
  expect<float>("cvt.rni.f32.f32 %d, %a;", [](float x) { return std::nearbyint(x); }, a);
}

TEST_CASE("integers become floats") {
  Random random;
  INFO("seed " << random.seed);
  expect<float>(
      "cvt.rn.f32.s32 %d, %a;", [](std::int32_t x) { return static_cast<float>(x); },
      integers<std::int32_t>(random));
  expect<double>(
      "cvt.rn.f64.u64 %d, %a;", [](std::uint64_t x) { return static_cast<double>(x); },
      integers<std::uint64_t>(random));
  expect<float>(
      "cvt.rn.f32.s8 %d, %a;", [](std::int32_t x) { return static_cast<float>(static_cast<std::int8_t>(x)); },
      integers<std::int32_t>(random));
  expect<std::uint16_t>(
      "cvt.rn.f16.s32 %d, %a;", [](std::int32_t x) { return to_f16(x); }, integers<std::int32_t>(random));
}

TEST_CASE("floats change their width") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = floats32(random);
  expect<std::uint16_t>("cvt.rn.f16.f32 %d, %a;", [](float x) { return to_f16(x); }, a);
  expect<std::uint16_t>("cvt.rn.bf16.f32 %d, %a;", [](float x) { return to_bf16(x); }, a);
  expect<float>(
      "cvt.f32.f16 %d, %a;", [](std::uint16_t x) { return static_cast<float>(std::bit_cast<_Float16>(x)); },
      floats<std::uint16_t>(random, 10));
  expect<float>(
      "cvt.f32.bf16 %d, %a;", [](std::uint16_t x) { return std::bit_cast<float>(std::uint32_t{x} << 16); },
      floats<std::uint16_t>(random, 7));
  expect<double>("cvt.f64.f32 %d, %a;", [](float x) { return double{x}; }, a);
  expect<float>("cvt.rn.f32.f64 %d, %a;", [](double x) { return static_cast<float>(x); }, floats64(random));
}

TEST_CASE("of two values the first becomes the upper half") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = floats32(random), b = floats32(random);
  expect<std::uint32_t>(
      "cvt.rn.f16x2.f32 %d, %a, %b;",
      [](float x, float y) { return std::uint32_t{to_f16(x)} << 16 | to_f16(y); }, a, b);
  expect<std::uint32_t>(
      "cvt.rn.bf16x2.f32 %d, %a, %b;",
      [](float x, float y) { return std::uint32_t{to_bf16(x)} << 16 | to_bf16(y); }, a, b);
  const auto out = each_thread<std::uint16_t>("cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;",
                                              std::vector<float>(64, 1.0f), std::vector<float>(64, -1000.0f));
  CHECK(out[0] == 0x38fe);
  CHECK(each_thread<std::uint32_t>("cvt.rn.f16x2.e4m3x2 %d, %a;", out)[0] == 0x3c00df00);
}

TEST_CASE("tf32 keeps ten bits of the mantissa") {
  Random random;
  INFO("seed " << random.seed);
  expect<std::uint32_t>(
      "cvt.rna.tf32.f32 %d, %a;",
      [](float x) {
        const auto bits = std::bit_cast<std::uint32_t>(x);
        return std::isfinite(x) ? (bits + 0x1000) & ~0x1fffu : bits & ~0x1fffu;
      },
      floats32(random));
}

}  // namespace ptxloom::exec::test::convert_test
