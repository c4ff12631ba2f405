// SPDX-License-Identifier: Apache-2.0
#include "text/lexer.hpp"

#include <algorithm>
#include <array>

namespace ptxloom::text {
namespace {

enum CharacterClass : unsigned char { other = 0, blank = 1, digit = 2, letter = 4, dot = 8 };

constexpr std::array<unsigned char, 256> kClasses = [] {
  std::array<unsigned char, 256> classes{};
  for (const char c : {' ', '\t', '\r', '\n', '\f', '\v'}) classes[static_cast<unsigned char>(c)] = blank;
  for (unsigned char c = '0'; c <= '9'; ++c) classes[c] = digit;
  for (unsigned char c = 'a'; c <= 'z'; ++c) classes[c] = letter;
  for (unsigned char c = 'A'; c <= 'Z'; ++c) classes[c] = letter;
  classes['_'] = classes['$'] = letter;
  classes['.'] = dot;
  return classes;
}();

constexpr bool is(char c, int classes) { return (kClasses[static_cast<unsigned char>(c)] & classes) != 0; }

constexpr bool is_pair(char c, char next) {
  if (next == '=') return c == '<' || c == '>' || c == '=' || c == '!';
  return c == next && (c == '<' || c == '>' || c == '&' || c == '|');
}

}  // namespace

bool Lexer::next(Tokens& tokens) {
  out_ = &tokens;
  tokens.tokens.clear();
  tokens.comments.clear();
  tokens.labels.clear();
  scopes_.clear();
  skip_blanks_and_comments();
  while (at_ < text_.size() && (tokens.tokens.size() < chunk_ || !at_directive_of_module())) {
    const auto [kind, length] = scan();
    push(kind, length);
    skip_blanks_and_comments();
  }
  const bool any = !tokens.tokens.empty();
  push(Token::Kind::end, 0);
  std::stable_sort(tokens.labels.begin(), tokens.labels.end(),
                   [](const LabelSite& a, const LabelSite& b) { return a.scope < b.scope; });
  return any;
}

// After a `;` or `}` that ends the preceding item, one of these starts a new item; `.pragma "x";` may be part
// of an entry.
bool Lexer::at_directive_of_module() const {
  static constexpr std::array<std::string_view, 8> kStarts{".visible", ".entry",  ".func",  ".weak",
                                                           ".extern",  ".global", ".const", ".section"};
  if (!scopes_.empty() || peek() != '.') return false;
  const Token& before = out_->tokens.back();
  if (!before.is(";") && !before.is("}")) return false;
  return std::any_of(kStarts.begin(), kStarts.end(),
                     [&](std::string_view word) { return text_.substr(at_).starts_with(word); });
}

void Lexer::push(Token::Kind kind, std::size_t length) {
  const int column = static_cast<int>(at_ - line_start_) + 1;
  const std::string_view text = text_.substr(at_, length);
  if (kind == Token::Kind::punctuation && length == 1) note_structure(text[0]);
  out_->tokens.push_back({kind, text, line_, column});
  fresh_line_ = false;
  if (kind == Token::Kind::string) return skip(length);  // only a string can contain a line break
  at_ += length;
}

// Tracks the scope that a label belongs to.
void Lexer::note_structure(char c) {
  const std::size_t index = out_->tokens.size();
  if (c == '{') {
    scopes_.push_back(index);
  } else if (c == '}') {
    if (!scopes_.empty()) scopes_.pop_back();
  } else if (c == ':' && index > 0 && !scopes_.empty()) {
    const Token& before = out_->tokens.back();
    if (before.is_word() && !before.is_directive()) out_->labels.push_back({scopes_.back(), index - 1});
  }
}

void Lexer::skip(std::size_t length) {
  for (const std::size_t end = at_ + length; at_ < end;) advance();
}

void Lexer::advance() {
  if (text_[at_++] != '\n') return;
  ++line_;
  line_start_ = at_;
  fresh_line_ = true;
}

void Lexer::skip_blanks_and_comments() {
  for (;;) {
    while (is(peek(), blank)) advance();
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

void Lexer::skip_line_comment() {
  const std::size_t end = std::min(text_.find('\n', at_), text_.size());
  if (fresh_line_) note_comment(text_.substr(at_ + 2, end - at_ - 2));
  at_ = end;
}

void Lexer::note_comment(std::string_view text) {
  if (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with('\r')) text.remove_suffix(1);
  out_->comments.push_back({text, out_->tokens.size()});
}

void Lexer::skip_block_comment() {
  const std::size_t close = std::min(text_.find("*/", at_ + 2), text_.size());
  std::string_view inside = text_.substr(at_ + 2, close - std::min(at_ + 2, close));
  while (fresh_line_ && !inside.empty()) {
    std::string_view line = inside.substr(0, inside.find('\n'));
    inside.remove_prefix(std::min(line.size() + 1, inside.size()));
    while (!line.empty() && is(line[0], blank)) line.remove_prefix(1);
    while (!line.empty() && is(line.back(), blank)) line.remove_suffix(1);
    if (line.starts_with('*')) line.remove_prefix(1);
    if (!line.empty()) note_comment(line);
  }
  skip(std::min(close + 2, text_.size()) - at_);
  fresh_line_ = false;
}

Lexer::Scan Lexer::scan() const {
  const char c = peek(), next = peek(1);
  if (is(c, letter)) return {Token::Kind::word, word_length()};
  if (is(c, digit) || (c == '.' && is(next, digit))) return {Token::Kind::number, number_length()};
  if (c == '.' && is(next, letter)) return {Token::Kind::word, directive_length()};
  if (c == '%' && is(next, letter | digit)) return {Token::Kind::word, word_length()};
  if (c == '"') {
    const std::size_t close = text_.find('"', at_ + 1);
    return {Token::Kind::string, (close == text_.npos ? text_.size() : close + 1) - at_};
  }
  return {Token::Kind::punctuation, is_pair(c, next) ? 2U : 1U};
}

// A modifier can be of two words, `shared::cta`, and the second one a ratio, `sp::2:4`.
std::size_t Lexer::word_length() const {
  std::size_t n = 1;
  for (bool two_words = false;; ++n) {
    const char c = peek(n);
    if (is(c, letter | digit | dot)) continue;
    if (c == ':' && peek(n + 1) == ':' && is(peek(n + 2), letter | digit)) {
      two_words = true;
      ++n;
    } else if (c != ':' || !two_words || !is(peek(n - 1), digit) || !is(peek(n + 1), digit)) {
      return n;
    }
  }
}

// `.reg.b32` is two directives.
std::size_t Lexer::directive_length() const {
  std::size_t n = 1;
  while (is(peek(n), letter | digit)) ++n;
  return n;
}

// 12, 0x1F, 0f3F800000, 1.5e-3, 7U, including any letters attached to it.
std::size_t Lexer::number_length() const {
  const bool based = peek() == '0' && is(peek(1), letter) && peek(1) != 'e' && peek(1) != 'E';
  std::size_t n = 1;
  for (;; ++n) {
    const char c = peek(n);
    const char previous = peek(n - 1);
    const bool exponent_sign = !based && (c == '+' || c == '-') && (previous == 'e' || previous == 'E');
    if (!is(c, letter | digit | dot) && !exponent_sign) return n;
  }
}

Tokens tokenize(std::string_view ptx) {
  Tokens tokens;
  Lexer(ptx, std::string_view::npos).next(tokens);
  return tokens;
}

}  // namespace ptxloom::text
