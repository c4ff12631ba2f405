// SPDX-License-Identifier: Apache-2.0
#include "text/constant.hpp"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>
#include <string>

namespace {

using ptxloom::text::Constant;
using ptxloom::text::SyntaxError;

Constant evaluate(const std::string& text) {
  const auto tokens = ptxloom::text::tokenize(text);
  ptxloom::text::TokenStream in(tokens.tokens);
  const Constant value = ptxloom::text::read_constant(in);
  if (!in.at_end()) ptxloom::text::fail(in.peek(), "syntax", "left over: " + std::string(in.peek().text));
  return value;
}

}  // namespace

TEST_CASE("integer constants of every base") {
  CHECK(evaluate("42").bits == 42);
  CHECK(evaluate("0x1f").bits == 31);
  CHECK(evaluate("0XFFFFFFFFFFFFFFFF").bits == -1);
  CHECK(evaluate("0xffU").is_unsigned);
  CHECK(evaluate("017").bits == 15);
  CHECK(evaluate("0b101").bits == 5);
  CHECK(evaluate("0").bits == 0);
  CHECK(evaluate("18446744073709551615").is_unsigned);
  CHECK(evaluate("WARP_SZ").bits == 32);
  CHECK_FALSE(evaluate("9223372036854775807").is_unsigned);
  CHECK(evaluate("18446744073709551617").bits == 1);  // cut off, as ptxas does
}

TEST_CASE("floats by value and by bits") {
  CHECK(evaluate("1.5").as_double() == 1.5);
  CHECK(evaluate(".5e1").as_double() == 5.0);
  CHECK(evaluate("1e3").as_double() == 1000.0);
  CHECK(evaluate("1.").as_double() == 1.0);
  CHECK(evaluate("-2.5e-3").as_double() == -2.5e-3);
  CHECK(evaluate("0f3F800000").kind == Constant::Kind::f32);
  CHECK(evaluate("0F3f800000").as_double() == 1.0);
  CHECK(evaluate("(0f3F800000)").as_double() == 1.0);
  CHECK(evaluate("0d3FF0000000000000").as_double() == 1.0);
  CHECK(evaluate("1.5<2.5").bits == 1);
  CHECK(evaluate("1.0+2.0*3.0").as_double() == 7.0);
}

// The rules are those of C, so the compiler of this test is the reference. It would rather see parentheses.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wparentheses"
TEST_CASE("expressions have the precedence of C") {
#define CHECK_LIKE_C(expression) CHECK(evaluate(#expression).bits == static_cast<std::int64_t>(expression))
  CHECK_LIKE_C(1 + 2 * 3 - 4);
  CHECK_LIKE_C((1 + 2) * 3);
  CHECK_LIKE_C(100 - 10 - 1);
  CHECK_LIKE_C(100 / 7 / 2);
  CHECK_LIKE_C(-7 / 2);
  CHECK_LIKE_C(-7 % 3);
  CHECK_LIKE_C(1 << 4 | 3 & 6 ^ 5);
  CHECK_LIKE_C(7 > 3 == 1);
  CHECK_LIKE_C(1 && 0 || 1);
  CHECK_LIKE_C(!5 + ~5);
  CHECK_LIKE_C(-8 >> 1);
  CHECK_LIKE_C(3 <= 2 ? 10 : 4 >= 4 ? 20 : 30);
  CHECK_LIKE_C(- -3);
#undef CHECK_LIKE_C
#pragma GCC diagnostic pop
  CHECK(evaluate("(0-9223372036854775807-1)/(0-1)").bits == INT64_MIN);
  CHECK(evaluate("0xFFFFFFFFFFFFFFFF/2").bits == INT64_MAX);
}

TEST_CASE("what is no constant is refused at its place") {
  for (const char* text : {"",
                           "+",
                           "1 +",
                           "(1",
                           "08",
                           "0b2",
                           "0x",
                           "0f12",
                           "0d12",
                           "1.5.5",
                           "12abc",
                           "100000000000000000000",
                           "1/0",
                           "5%(3-3)",
                           "1.5%2.0",
                           "~1.0",
                           "1 2",
                           "1?2",
                           "1e999",
                           "foo",
                           "\"1\"",
                           "-0f3F800000",
                           "0f3F800000+1.0",
                           "1.0+1",
                           "1?1.0:2.0",
                           "7%3"}) {
    INFO(text);
    CHECK_THROWS_AS(evaluate(text), SyntaxError);
  }
  CHECK_THROWS_AS(evaluate(std::string(100000, '(')), SyntaxError);
  CHECK_THROWS_AS(evaluate(std::string(100000, '-') + "1"), SyntaxError);
  std::string chain;
  for (int i = 0; i < 100000; ++i) chain += "1?1:";
  CHECK_THROWS_AS(evaluate(chain + "1"), SyntaxError);
  try {
    evaluate("1 +\n  2 * bar");
    FAIL("accepted");
  } catch (const SyntaxError& error) {
    CHECK(error.diagnostic.line == 2);
    CHECK(error.diagnostic.column == 7);
  }
}
