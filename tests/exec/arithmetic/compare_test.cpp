// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>

#include "exec/harness.hpp"

namespace ptxloom::exec::test::compare_test {
namespace {

const std::string kToInteger = " selp.b32 %d, 1, 0, %p;";

template <class T, class F>
void expect_setp(const std::string& words, F f, const std::vector<T>& a, const std::vector<T>& b) {
  expect<std::uint32_t>(
      ".reg .pred %p; setp." + words + " %p, %a, %b;" + kToInteger,
      [&](T x, T y) { return std::uint32_t{f(x, y)}; }, a, b);
}

}  // namespace

TEST_CASE("integers compare by sign or without") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = integers<std::int32_t>(random);
  auto b = integers<std::int32_t>(random);
  for (std::size_t i = 0; i < b.size(); i += 3) b[i] = a[i];
  using U = std::uint32_t;
  expect_setp("lt.s32", [](auto x, auto y) { return x < y; }, a, b);
  expect_setp("lt.u32", [](auto x, auto y) { return U(x) < U(y); }, a, b);
  expect_setp("hs.u32", [](auto x, auto y) { return U(x) >= U(y); }, a, b);
  expect_setp("le.s32", [](auto x, auto y) { return x <= y; }, a, b);
  expect_setp("eq.b32", [](auto x, auto y) { return x == y; }, a, b);
  expect_setp("ne.s32", [](auto x, auto y) { return x != y; }, a, b);
  expect_setp(
      "gt.s16", [](auto x, auto y) { return x > y; }, integers<std::int16_t>(random),
      integers<std::int16_t>(random));
  expect_setp(
      "ge.s64", [](auto x, auto y) { return x >= y; }, integers<std::int64_t>(random),
      integers<std::int64_t>(random));
}

TEST_CASE("floats compare ordered or unordered") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = floats32(random);
  auto b = floats32(random);
  for (std::size_t i = 0; i < b.size(); i += 3) b[i] = a[i];
  const auto nan = [](float x, float y) { return std::isnan(x) || std::isnan(y); };
  expect_setp("eq.f32", [](auto x, auto y) { return x == y; }, a, b);
  expect_setp("ne.f32", [&](auto x, auto y) { return !nan(x, y) && x != y; }, a, b);
  expect_setp("neu.f32", [&](auto x, auto y) { return nan(x, y) || x != y; }, a, b);
  expect_setp("lt.f32", [](auto x, auto y) { return std::isless(x, y); }, a, b);
  expect_setp("geu.f32", [&](auto x, auto y) { return nan(x, y) || std::isgreaterequal(x, y); }, a, b);
  expect_setp("num.f32", [&](auto x, auto y) { return !nan(x, y); }, a, b);
  expect_setp("nan.f32", nan, a, b);
  expect_setp(
      "gt.bf16",
      [](std::uint16_t x, std::uint16_t y) {
        return std::isgreater(std::bit_cast<float>(std::uint32_t{x} << 16),
                              std::bit_cast<float>(std::uint32_t{y} << 16));
      },
      floats<std::uint16_t>(random, 7), floats<std::uint16_t>(random, 7));
}

TEST_CASE("a comparison joins another predicate, and gives its opposite") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = integers<std::int32_t>(random), b = integers<std::int32_t>(random);
  expect<std::uint32_t>(
      ".reg .pred %p, %q, %c; setp.gt.s32 %c, %b, 5; setp.lt.or.s32 %p|%q, %a, %b, !%c;"
      ".reg .b32 %u; selp.b32 %d, 1, 0, %p; selp.b32 %u, 2, 0, %q; or.b32 %d, %d, %u;",
      [](std::int32_t x, std::int32_t y) {
        return std::uint32_t{x < y || !(y > 5)} | std::uint32_t{x >= y || !(y > 5)} << 1;
      },
      a, b);
}

TEST_CASE("set writes what true is in the destination's type") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = integers<std::int32_t>(random), b = integers<std::int32_t>(random);
  expect<std::uint32_t>("set.lt.u32.s32 %d, %a, %b;", [](auto x, auto y) { return x < y ? ~0u : 0u; }, a, b);
  expect<float>("set.lt.f32.s32 %d, %a, %b;", [](auto x, auto y) { return x < y ? 1.0f : 0.0f; }, a, b);
}

TEST_CASE("selections move 16, 32 and 64 bits") {
  Random random;
  INFO("seed " << random.seed);
  const auto key = integers<std::int32_t>(random);
  expect<std::uint64_t>(
      ".reg .pred %p; setp.lt.s32 %p, %c, 0; selp.b64 %d, %a, %b, %p;",
      [](auto x, auto y, auto k) { return k < 0 ? x : y; }, integers<std::uint64_t>(random),
      integers<std::uint64_t>(random), key);
  expect<std::uint16_t>(
      "slct.u16.s32 %d, %a, %b, %c;", [](auto x, auto y, auto k) { return k >= 0 ? x : y; },
      integers<std::uint16_t>(random), integers<std::uint16_t>(random), key);
}

}  // namespace ptxloom::exec::test::compare_test
