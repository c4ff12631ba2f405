// SPDX-License-Identifier: Apache-2.0
#include "text/lexer.hpp"

#include <algorithm>
#include <array>

namespace ptxloom::text {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}
constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { result_.tokens.reserve(text.size() / 4 + 1); }

  Tokens run() {
    skip_blanks_and_comments();
    while (at_ < text_.size()) {
      const auto [kind, length] = scan();
      push(kind, length);
      skip_blanks_and_comments();
    }
    push(Token::Kind::end, 0);
    return std::move(result_);
  }

 private:
  struct Scan {
    Token::Kind kind;
    std::size_t length;
  };

  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void push(Token::Kind kind, std::size_t length) {
    const int column = static_cast<int>(at_ - line_start_) + 1;
    result_.tokens.push_back({kind, text_.substr(at_, length), line_, column});
    fresh_line_ = false;
    skip(length);
  }

  void skip(std::size_t length) {
    for (const std::size_t end = at_ + length; at_ < end;) advance();
  }

  void advance() {
    if (text_[at_++] != '\n') return;
    ++line_;
    line_start_ = at_;
    fresh_line_ = true;
  }

  void skip_blanks_and_comments() {
    for (;;) {
      while (is_blank(peek())) advance();
      if (peek() != '/') return;
      if (peek(1) == '/') {
        skip_line_comment();
      } else if (peek(1) == '*') {
        skip_block_comment();
      } else {
        return;
      }
    }
  }

  void skip_line_comment() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    if (fresh_line_) {
      std::string_view comment = text_.substr(at_ + 2, end - at_ - 2);
      if (comment.starts_with(' ')) comment.remove_prefix(1);
      if (comment.ends_with('\r')) comment.remove_suffix(1);
      result_.comments.push_back({comment, result_.tokens.size()});
    }
    at_ = end;
  }

  void skip_block_comment() {
    const std::size_t close = text_.find("*/", at_ + 2);
    skip((close == text_.npos ? text_.size() : close + 2) - at_);
    fresh_line_ = false;
  }

  Scan scan() const {
    const char c = peek();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return {Token::Kind::number, number_length()};
    const bool prefixed = (c == '%' || c == '.') && (is_letter(peek(1)) || (c == '%' && is_digit(peek(1))));
    if (is_letter(c) || prefixed) return {Token::Kind::word, word_length()};
    if (c == '"') {
      const std::size_t close = text_.find('"', at_ + 1);
      return {Token::Kind::string, (close == text_.npos ? text_.size() : close + 1) - at_};
    }
    static constexpr std::array<std::string_view, 8> kPairs{"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    const bool pair = std::find(kPairs.begin(), kPairs.end(), text_.substr(at_, 2)) != kPairs.end();
    return {Token::Kind::punctuation, pair ? 2U : 1U};
  }

  std::size_t word_length() const {
    std::size_t n = 1;
    for (;; ++n) {
      const char c = peek(n);
      if (is_letter(c) || is_digit(c) || c == '.') continue;
      const char next = peek(n + 2);
      if (c != ':' || peek(n + 1) != ':' || !(is_letter(next) || is_digit(next))) return n;
      ++n;
    }
  }

  // 12, 0x1F, 0f3F800000, 1.5e-3, 7U, and whatever letters stick to it.
  std::size_t number_length() const {
    const bool based = peek() == '0' && is_letter(peek(1));
    std::size_t n = 1;
    for (;; ++n) {
      const char c = peek(n);
      const char previous = peek(n - 1);
      const bool exponent_sign = !based && (c == '+' || c == '-') && (previous == 'e' || previous == 'E');
      if (!is_letter(c) && !is_digit(c) && c != '.' && !exponent_sign) return n;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
  bool fresh_line_ = true;
  Tokens result_;
};

}  // namespace

Tokens tokenize(std::string_view ptx) { return Lexer(ptx).run(); }

}  // namespace ptxloom::text
