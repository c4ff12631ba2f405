// SPDX-License-Identifier: Apache-2.0
#include "text/constant.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace ptxloom::text {
namespace {

using Kind = Constant::Kind;
constexpr int kWarpSize = 32;
constexpr int kDeepest = 64;  // nesting limit, so that no text can exhaust the stack

[[noreturn]] void bad_number(const Token& token) {
  fail(token, "bad-number", quoted(token) + " is not a number",
       "numbers: 12, 0x1F, 017, 0b101, 1.5, 1e3, 0f3F800000, 0d3FF0000000000000");
}

// ptxas truncates a value that is just too large for 64 bits, and rejects larger ones: those with a digit
// after the 64th bit.
std::uint64_t digits_of(const Token& token, std::string_view digits, int base) {
  if (digits.empty()) bad_number(token);
  std::uint64_t value = 0;
  for (const char& c : digits) {
    unsigned digit = 0;
    if (std::from_chars(&c, &c + 1, digit, base).ec != std::errc{}) bad_number(token);
    if (value >> 63 != 0) fail(token, "bad-number", quoted(token) + " does not fit in 64 bits");
    value = value * static_cast<unsigned>(base) + digit;
  }
  return value;
}

// 0f and 8, or 0d and 16 hexadecimal digits.
Constant float_bits(const Token& token, Kind kind) {
  const std::size_t digits = kind == Kind::f32 ? 8 : 16;
  if (token.text.size() != 2 + digits) bad_number(token);
  return {.kind = kind, .bits = static_cast<std::int64_t>(digits_of(token, token.text.substr(2), 16))};
}

Constant decimal_float(const Token& token) {
  std::string text(token.text);
  if (text.starts_with('.')) text.insert(0, 1, '0');
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  // ptxas refuses subnormal values as well, which their bits can give.
  if (error == std::errc::result_out_of_range || std::fpclassify(value) == FP_SUBNORMAL)
    fail(token, "bad-number", quoted(token) + " does not fit in an f64");
  if (error != std::errc{} || stop != end) bad_number(token);
  return Constant::of(value);
}

char second_of_zero(std::string_view text) { return text.size() > 1 && text[0] == '0' ? text[1] : '\0'; }

// 0f3F800000 cannot be part of an expression; 0d3FF0000000000000 can, as the decimal that it is.
bool is_single_bits(const Token& token) {
  const char mark = second_of_zero(token.text);
  return token.kind == Token::Kind::number && (mark == 'f' || mark == 'F');
}

Constant literal(const Token& token) {
  std::string_view text = token.text;
  const char second = second_of_zero(text);
  if (is_single_bits(token)) return float_bits(token, Kind::f32);
  if (second == 'd' || second == 'D') return float_bits(token, Kind::f64);
  const bool hexadecimal = second == 'x' || second == 'X';
  if (!hexadecimal && text.find_first_of(".eE") != text.npos) return decimal_float(token);
  const bool marked = text.ends_with('U');
  if (marked) text.remove_suffix(1);
  int base = 10;
  if (hexadecimal) base = 16;
  if (second == 'b' || second == 'B') base = 2;
  if (base != 10) text.remove_prefix(2);
  if (base == 10 && second != '\0' && text.size() > 1) base = 8;
  const std::uint64_t value = digits_of(token, text, base);
  const bool large = value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return {.kind = Kind::integer, .is_unsigned = marked || large, .bits = static_cast<std::int64_t>(value)};
}

struct Operator {
  std::string_view text;
  int strength;
};
constexpr std::array<Operator, 18> kOperators{{{"||", 1},
                                               {"&&", 2},
                                               {"|", 3},
                                               {"^", 4},
                                               {"&", 5},
                                               {"==", 6},
                                               {"!=", 6},
                                               {"<", 7},
                                               {"<=", 7},
                                               {">", 7},
                                               {">=", 7},
                                               {"<<", 8},
                                               {">>", 8},
                                               {"+", 9},
                                               {"-", 9},
                                               {"*", 10},
                                               {"/", 10},
                                               {"%", 10}}};

Constant integer(std::uint64_t bits, bool is_unsigned) {
  return {.kind = Kind::integer, .is_unsigned = is_unsigned, .bits = static_cast<std::int64_t>(bits)};
}

[[noreturn]] void fail_zero_division(const Token& at) {
  fail(at, "bad-number", "division by zero in a constant expression");
}

Constant divide(const Token& at, Constant a, Constant b, bool remainder) {
  if (b.bits == 0) fail_zero_division(at);
  const auto ua = static_cast<std::uint64_t>(a.bits), ub = static_cast<std::uint64_t>(b.bits);
  if (a.is_unsigned || b.is_unsigned) return integer(remainder ? ua % ub : ua / ub, true);
  if (b.bits == -1) return integer(remainder ? 0 : 0 - ua, false);  // INT64_MIN / -1 overflows
  return integer(static_cast<std::uint64_t>(remainder ? a.bits % b.bits : a.bits / b.bits), false);
}

Constant apply_float(const Token& at, Constant a, Constant b) {
  if (!a.is_float() || !b.is_float())
    fail(at, "bad-number", quoted(at) + " needs two integers or two floats, not one of each");
  const double x = a.as_double(), y = b.as_double();
  if (at.is("==")) return integer(x == y, false);
  if (at.is("!=")) return integer(x != y, false);
  if (at.is("<=")) return integer(x <= y, false);
  if (at.is(">=")) return integer(x >= y, false);
  if (at.text.size() > 1) fail(at, "bad-number", quoted(at) + " needs integers, not floats");
  switch (at.text[0]) {
    case '<':
      return integer(x < y, false);
    case '>':
      return integer(x > y, false);
    case '+':
      return Constant::of(x + y);
    case '-':
      return Constant::of(x - y);
    case '*':
      return Constant::of(x * y);
    case '/':
      if (y == 0) fail_zero_division(at);
      return Constant::of(x / y);
    default:
      fail(at, "bad-number", quoted(at) + " needs integers, not floats");
  }
}

Constant shift(Constant a, Constant b, bool left) {
  const auto distance = static_cast<std::uint64_t>(b.bits);
  const auto bits = static_cast<std::uint64_t>(a.bits);
  if (left) return integer(distance > 63 ? 0 : bits << distance, a.is_unsigned);
  if (a.is_unsigned) return integer(distance > 63 ? 0 : bits >> distance, true);
  return integer(static_cast<std::uint64_t>(a.bits >> std::min<std::uint64_t>(distance, 63)), false);
}

Constant apply(const Token& at, Constant a, Constant b) {
  if (a.is_float() || b.is_float()) return apply_float(at, a, b);
  const std::string_view op = at.text;
  const auto x = static_cast<std::uint64_t>(a.bits), y = static_cast<std::uint64_t>(b.bits);
  const bool is_unsigned = a.is_unsigned || b.is_unsigned;
  const bool less = is_unsigned ? x < y : a.bits < b.bits;
  if (op == "+") return integer(x + y, is_unsigned);
  if (op == "-") return integer(x - y, is_unsigned);
  if (op == "*") return integer(x * y, is_unsigned);
  if (op == "/" || op == "%") return divide(at, a, b, op == "%");
  if (op == "<<" || op == ">>") return shift(a, b, op == "<<");
  if (op == "&") return integer(x & y, is_unsigned);
  if (op == "|") return integer(x | y, is_unsigned);
  if (op == "^") return integer(x ^ y, is_unsigned);
  if (op == "&&") return integer(x != 0 && y != 0, false);
  if (op == "||") return integer(x != 0 || y != 0, false);
  if (op == "==") return integer(x == y, false);
  if (op == "!=") return integer(x != y, false);
  if (op == "<") return integer(less, false);
  if (op == ">=") return integer(!less, false);
  const bool less_or_equal = less || x == y;
  return integer(op == "<=" ? less_or_equal : !less_or_equal, false);
}

class Reader {
 public:
  explicit Reader(TokenStream& in) : in_(in) {}

  Constant conditional() {
    if (++depth_ > kDeepest) fail(in_.peek(), "syntax", "a constant expression is nested too deeply");
    Constant value = binary(1);
    if (const Token& at = in_.peek(); in_.accept("?")) {
      const Constant chosen = conditional();
      in_.expect(":");
      const Constant otherwise = conditional();
      for (const Constant& part : {value, chosen, otherwise}) integral(at, part);
      value = value.bits != 0 ? chosen : otherwise;
    }
    --depth_;
    return value;
  }

 private:
  Constant binary(int weakest) {
    Constant left = unary();
    for (;;) {
      const Token& token = in_.peek();
      const auto found = std::find_if(kOperators.begin(), kOperators.end(), [&](const Operator& op) {
        return token.is(op.text) && op.strength >= weakest;
      });
      if (found == kOperators.end()) return left;
      in_.next();
      left = apply(token, left, binary(found->strength + 1));
    }
  }

  Constant unary() {
    const Token& token = in_.peek();
    if (++depth_ > kDeepest) fail(token, "syntax", "a constant expression is nested too deeply");
    Constant value;
    if (const std::optional<bool> is_unsigned = cast_to_unsigned()) {
      value = integral(token, unary());
      value.is_unsigned = *is_unsigned;
    } else if (in_.accept("-")) {
      value = unary();
      value = value.is_float() ? negated(value)
                               : integer(0 - static_cast<std::uint64_t>(value.bits), value.is_unsigned);
    } else if (in_.accept("+")) {
      value = unary();
    } else if (in_.accept("~")) {
      value = integral(token, unary());
      value = integer(~static_cast<std::uint64_t>(value.bits), value.is_unsigned);
    } else if (in_.accept("!")) {
      value = integer(integral(token, unary()).bits == 0, false);
    } else {
      value = primary();
    }
    --depth_;
    return value;
  }

  static Constant negated(Constant value) {
    if (value.kind == Kind::f32) return Constant::of(-static_cast<float>(value.as_double()));
    return Constant::of(-value.as_double());
  }

  static Constant integral(const Token& at, Constant value) {
    if (value.is_float()) fail(at, "bad-number", quoted(at) + " needs an integer, not a float");
    return value;
  }

  // `(.s64)` and `(.u64)` determine how the value is interpreted from here on.
  std::optional<bool> cast_to_unsigned() {
    const bool is_unsigned = in_.peek(1).is(".u64");
    if (!in_.peek().is("(") || !(is_unsigned || in_.peek(1).is(".s64"))) return std::nullopt;
    in_.next(), in_.next();
    in_.expect(")");
    return is_unsigned;
  }

  Constant primary() {
    if (in_.accept("(")) {
      const Constant value = is_single_bits(in_.peek()) ? literal(in_.next()) : conditional();
      in_.expect(")");
      return value;
    }
    if (in_.accept("WARP_SZ")) return integer(kWarpSize, false);
    const Token& token = in_.peek();
    if (token.kind != Token::Kind::number)
      fail(token, "syntax", "expected a constant, found " + quoted(token));
    if (is_single_bits(token))
      fail(token, "syntax",
           quoted(token) + " is a float given by its bits, which cannot be part of an expression",
           "set the sign bit itself, or write a decimal");
    return literal(in_.next());
  }

  TokenStream& in_;
  int depth_ = 0;
};

}  // namespace

Constant Constant::of(double value) {
  return {.kind = Kind::f64, .bits = std::bit_cast<std::int64_t>(value)};
}
Constant Constant::of(float value) {
  return {.kind = Kind::f32, .bits = std::bit_cast<std::int32_t>(value) & 0xFFFFFFFFLL};
}

double Constant::as_double() const {
  if (kind == Kind::f64) return std::bit_cast<double>(bits);
  if (kind == Kind::f32) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return is_unsigned ? static_cast<double>(static_cast<std::uint64_t>(bits)) : static_cast<double>(bits);
}

bool starts_constant(const Token& token) {
  if (token.kind == Token::Kind::number || token.is("WARP_SZ")) return true;
  return token.kind == Token::Kind::punctuation && token.text.size() == 1 &&
         std::string_view("-+~!(").find(token.text[0]) != std::string_view::npos;
}

Constant read_constant(TokenStream& in) {
  return is_single_bits(in.peek()) ? literal(in.next()) : Reader(in).conditional();
}

std::int64_t read_integer(TokenStream& in) {
  const Token& at = in.peek();
  const Constant value = read_constant(in);
  if (value.is_float()) fail(at, "syntax", "expected an integer, found " + quoted(at));
  return value.bits;
}

std::int64_t read_count(TokenStream& in) {
  const Token& at = in.peek();
  if (in.accept("WARP_SZ")) return kWarpSize;
  const Constant value = at.kind == Token::Kind::number ? literal(in.next()) : Constant::of(0.0);
  if (value.is_float()) fail(at, "syntax", "expected a number, found " + quoted(at));
  return value.bits;
}

std::uint32_t read_u32(TokenStream& in) {
  const Token& at = in.peek();
  const std::int64_t value = read_count(in);
  if (value < 0 || value > std::numeric_limits<std::uint32_t>::max())
    fail(at, "syntax", "expected a number of 32 bits, found " + quoted(at));
  return static_cast<std::uint32_t>(value);
}

}  // namespace ptxloom::text
