// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "ptxloom/error.hpp"
#include "text/lexer.hpp"

// A position in the tokens. Invalid text throws a SyntaxError, which the statement reader catches to continue
// with the next statement.
namespace ptxloom::text {

struct SyntaxError {
  Diagnostic diagnostic;
};

[[noreturn]] inline void fail(const Token& at, std::string code, std::string message, std::string hint = {}) {
  throw SyntaxError{{.code = std::move(code),
                     .message = std::move(message),
                     .hint = std::move(hint),
                     .line = at.line,
                     .column = at.column}};
}

/// "'add'" or "the end of the text".
inline std::string quoted(const Token& token) {
  constexpr std::size_t kLongest = 60;
  if (token.kind == Token::Kind::end) return "the end of the text";
  const bool cut = token.text.size() > kLongest;
  return "'" + std::string(token.text.substr(0, kLongest)) + (cut ? "...'" : "'");
}

class TokenStream {
 public:
  explicit TokenStream(const std::vector<Token>& tokens) : tokens_(tokens) {}

  const Token& peek(std::size_t ahead = 0) const {
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead] : tokens_.back();
  }
  const Token& next() {
    const Token& token = peek();
    if (!at_end()) ++at_;
    return token;
  }
  bool accept(std::string_view text) {
    if (!peek().is(text)) return false;
    next();
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text))
      fail(peek(), "syntax", "expected '" + std::string(text) + "', found " + quoted(peek()));
  }
  const Token& expect_word(std::string_view what) {
    if (!peek().is_word())
      fail(peek(), "syntax", "expected " + std::string(what) + ", found " + quoted(peek()));
    return next();
  }
  /// A word that may be a name, so neither an opcode nor a directive.
  const Token& expect_name(std::string_view what) {
    const Token& token = expect_word(what);
    if (token.text.find_first_of(".:") != std::string_view::npos || token.text == "WARP_SZ" ||
        token.text == "$")
      fail(token, "syntax", "expected " + std::string(what) + ", found " + quoted(token),
           "use letters, digits, _, $ and % in names");
    return token;
  }
  /// The same of what is declared: `_` stands for no name.
  const Token& expect_new_name(std::string_view what) {
    const Token& token = expect_name(what);
    if (token.is("_")) fail(token, "syntax", "_ cannot be " + std::string(what), "write a name");
    return token;
  }

  bool at_end() const { return peek().kind == Token::Kind::end; }
  std::size_t position() const { return at_; }
  void seek(std::size_t position) { at_ = position; }

 private:
  const std::vector<Token>& tokens_;
  std::size_t at_ = 0;
};

/// Continues after an invalid statement that began at `start`: past its `;`, or past its block, or to the `}`
/// that closes the surrounding one.
void recover(TokenStream& in, std::size_t start);

}  // namespace ptxloom::text
