// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

// PTX text as tokens. A word is an identifier, a register, a directive or a whole opcode with its modifiers
// ("ld.shared::cta.v4.b32"); a number keeps its spelling. Comments stand beside the tokens.
namespace ptxloom::text {

struct Token {
  enum class Kind : unsigned char { word, number, string, punctuation, end };
  Kind kind = Kind::end;
  std::string_view text;  ///< of a string: with its quotes
  int line = 1;
  int column = 1;

  bool is(std::string_view wanted) const {
    return text == wanted && kind != Kind::string && kind != Kind::end;
  }
  bool is_word() const { return kind == Kind::word; }
};

/// A `//` comment that has its line to itself.
struct Comment {
  std::string_view text;   ///< without "//" and the blank after it
  std::size_t before = 0;  ///< index of the token that follows
};

struct Tokens {
  std::vector<Token> tokens;  ///< the last one is `end`
  std::vector<Comment> comments;
};

/// Never fails: what is no PTX becomes punctuation of one character, an open comment or string ends with the
/// text.
Tokens tokenize(std::string_view ptx);

}  // namespace ptxloom::text
