// SPDX-License-Identifier: Apache-2.0
#include "text/constant.hpp"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

namespace {

using ptxloom::text::Constant;
using ptxloom::text::SyntaxError;

Constant evaluate(std::string_view text) {
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

TEST_CASE("the lowest integer is divided by -1 as all others are") {
  CHECK(evaluate("(-9223372036854775807 - 1) / -1").bits == std::numeric_limits<std::int64_t>::min());
  CHECK(evaluate("(-9223372036854775807 - 1) % -1").bits == 0);
}

TEST_CASE("a constant ends where the text ends") {
  const std::string_view longer = "0f3F800000";
  CHECK(evaluate(longer.substr(0, 1)).kind == Constant::Kind::integer);
  CHECK(evaluate(std::string_view("0x1f").substr(0, 3)).bits == 1);
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
  CHECK(evaluate("-0d3FF8000000000000").as_double() == -1.5);
  CHECK(evaluate("(0D4000000000000000)").as_double() == 2.0);
  CHECK(evaluate("0d3FF0000000000000*2.5-0d3FE0000000000000").as_double() == 2.0);
  CHECK(evaluate("0d3FF0000000000000<1.5").bits == 1);
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
  CHECK_LIKE_C(-7 % -1);
  CHECK_LIKE_C(-7 / -1);
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
                           "0d3FF0000000000000+1",
                           "1.0+0f3F800000",
                           "~0d3FF0000000000000",
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

TEST_CASE("each operator of integers and of floats") {
  struct Case {
    const char* text;
    std::int64_t bits;
  };
  for (const auto& [text, bits] : {Case{"6&3", 2},
                                   {"6|3", 7},
                                   {"6^3", 5},
                                   {"2&&1", 1},
                                   {"2&&0", 0},
                                   {"0&&2", 0},
                                   {"0||2", 1},
                                   {"2||0", 1},
                                   {"0||0", 0},
                                   {"3==3", 1},
                                   {"3==4", 0},
                                   {"3!=4", 1},
                                   {"3!=3", 0},
                                   {"3<3", 0},
                                   {"2<3", 1},
                                   {"3<=3", 1},
                                   {"4<=3", 0},
                                   {"3>3", 0},
                                   {"4>3", 1},
                                   {"3>=3", 1},
                                   {"2>=3", 0},
                                   {"-1<1", 1},
                                   {"-1<1U", 0},
                                   {"-1>1U", 1},
                                   {"-1<=1U", 0},
                                   {"-1>=1U", 1},
                                   {"-7/2U", 0x7fff'ffff'ffff'fffc},
                                   {"(0-9223372036854775807-1)%(0-1)", 0},
                                   {"7%-1", 0},
                                   {"1<<63", INT64_MIN},
                                   {"1<<64", 0},
                                   {"-1>>63", -1},
                                   {"-1>>64", -1},
                                   {"4>>64", 0},
                                   {"0xFFFFFFFFFFFFFFFF>>63", 1},
                                   {"0xFFFFFFFFFFFFFFFF>>64", 0},
                                   {"(.u64)-1>>60", 15},
                                   {"(.s64)0xFFFFFFFFFFFFFFFF>>60", -1},
                                   {"(.s64)0xFFFFFFFFFFFFFFFF<0", 1},
                                   {"(.u64)-1<0", 0},
                                   {"!0", 1},
                                   {"!7", 0},
                                   {"~0", -1},
                                   {"+5", 5},
                                   {"0?1:2", 2},
                                   {"5?1:2", 1},
                                   {"1.5==1.5", 1},
                                   {"1.5==2.5", 0},
                                   {"1.5!=2.5", 1},
                                   {"1.5!=1.5", 0},
                                   {"1.5<=1.5", 1},
                                   {"2.5<=1.5", 0},
                                   {"1.5>=1.5", 1},
                                   {"1.5>=2.5", 0},
                                   {"1.5<1.5", 0},
                                   {"2.5>1.5", 1},
                                   {"1.5>1.5", 0}}) {
    INFO(text);
    CHECK(evaluate(text).bits == bits);
    CHECK(evaluate(text).kind == Constant::Kind::integer);
  }
  CHECK(evaluate("7.0-2.5").as_double() == 4.5);
  CHECK(evaluate("7.0*2.5").as_double() == 17.5);
  CHECK(evaluate("7.0/2.0").as_double() == 3.5);
  CHECK(evaluate("18446744073709551615").as_double() == 0x1p64);
  CHECK(evaluate("-1").as_double() == -1);
}

TEST_CASE("floats are not divided by zero") {
  for (const char* text : {"1.0/0.0", "1.0/-0.0", "0.0/0.0", "1.0/0d0000000000000000",
                           "1.0/0d8000000000000000", "1.5/(2.5-2.5)"}) {
    INFO(text);
    CHECK_THROWS_AS(evaluate(text), SyntaxError);
  }
  CHECK(evaluate("0.0/2.5").as_double() == 0);
}

TEST_CASE("a decimal is zero or normal; bits give any value") {
  for (const char* text : {"2.2250738585072011e-308", "1e-320", "4.9e-324", "1e-400"}) {
    INFO(text);
    CHECK_THROWS_AS(evaluate(text), SyntaxError);
  }
  CHECK(evaluate("2.2250738585072014e-308").as_double() == 0x1p-1022);
  for (const char* text : {"0e-400", "0E-5", "0e+5", "0.0e-400"}) CHECK(evaluate(text).as_double() == 0);
  CHECK(evaluate("0x1e-5").bits == 25);
  CHECK(evaluate("0d0000000000000001").as_double() == 0x1p-1074);
}

TEST_CASE("an expression nests as deeply as it may, and no deeper") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '(') + "1" + std::string(depth, ')');
  };
  std::size_t deepest = 0;
  while (deepest < 1000) {
    try {
      evaluate(nested(deepest + 1));
    } catch (const SyntaxError&) {
      break;
    }
    ++deepest;
  }
  CHECK(deepest == 31);  // of 64 a parenthesis takes two
  std::string wide = "1";
  for (int i = 0; i < 1000; ++i) wide += "+(1)-(-1)";
  CHECK(evaluate(wide).bits == 2001);
}

TEST_CASE("counts and numbers of 32 bits") {
  const auto read = [](const std::string& text, auto reader) {
    const auto tokens = ptxloom::text::tokenize(text);
    ptxloom::text::TokenStream in(tokens.tokens);
    return reader(in);
  };
  CHECK(read("WARP_SZ", ptxloom::text::read_count) == 32);
  CHECK(read("0x10", ptxloom::text::read_count) == 16);
  CHECK_THROWS_AS(read("1.0", ptxloom::text::read_count), SyntaxError);
  CHECK_THROWS_AS(read("x", ptxloom::text::read_count), SyntaxError);
  CHECK(read("4294967295", ptxloom::text::read_u32) == 0xffff'ffff);
  CHECK(read("0", ptxloom::text::read_u32) == 0);
  CHECK_THROWS_AS(read("4294967296", ptxloom::text::read_u32), SyntaxError);
  CHECK_THROWS_AS(read("0xFFFFFFFFFFFFFFFF", ptxloom::text::read_u32), SyntaxError);
  CHECK(read("-(3)", ptxloom::text::read_integer) == -3);
  CHECK_THROWS_AS(read("2.0", ptxloom::text::read_integer), SyntaxError);
}
