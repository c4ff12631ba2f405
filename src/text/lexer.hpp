// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

// PTX text as tokens. A word is an identifier, a register, a directive or a whole opcode with its modifiers
// ("ld.shared::cta.v4.b32"); a number keeps its spelling. Comments and labels are kept separately from the
// tokens.
namespace ptxloom::text {

struct Token {
  enum class Kind : unsigned char { word, number, string, punctuation, end };
  Kind kind = Kind::end;
  std::string_view text;  ///< for a string including its quotes
  int line = 1;
  int column = 1;

  bool is(std::string_view wanted) const {
    return text == wanted && kind != Kind::string && kind != Kind::end;
  }
  bool is_word() const { return kind == Kind::word; }
  /// ".reg", ".visible": not an opcode.
  bool is_directive() const { return is_word() && text[0] == '.'; }
};

/// A line of a comment that starts its line, `//` or `/* */`.
struct Comment {
  std::string_view text;   ///< without "//" and the blank after it, or the " * " of block comments
  std::size_t before = 0;  ///< index of the next token
};

/// A word followed by a colon. Labels may be used before they are placed, so a scope must know its labels
/// when it opens.
struct LabelSite {
  std::size_t scope = 0;  ///< index of the enclosing `{`
  std::size_t at = 0;     ///< index of the word
};

struct Tokens {
  std::vector<Token> tokens;  ///< the last one is `end`
  std::vector<Comment> comments;
  std::vector<LabelSite> labels;  ///< by scope
};

/// Never fails: what is not PTX becomes one-character punctuation; an unterminated comment or string ends
/// with the text.
class Lexer {
 public:
  explicit Lexer(std::string_view text, std::size_t chunk = 4096) : text_(text), chunk_(chunk) {}

  /// The next directives of a module: whole ones, until they have at least `chunk` tokens. A text of
  /// megabytes is never held in memory as tokens. False at the end of the text.
  bool next(Tokens& tokens);

 private:
  struct Scan {
    Token::Kind kind;
    std::size_t length;
  };

  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  Scan scan() const;
  std::size_t word_length() const;
  std::size_t directive_length() const;
  std::size_t number_length() const;

  void push(Token::Kind kind, std::size_t length);
  void note_structure(char c);
  bool at_directive_of_module() const;
  void skip(std::size_t length);
  void advance();
  void skip_blanks_and_comments();
  void skip_line_comment();
  void skip_block_comment();
  void note_comment(std::string_view text);

  std::string_view text_;
  std::size_t chunk_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
  bool fresh_line_ = true;
  std::vector<std::size_t> scopes_;  // open `{`
  Tokens* out_ = nullptr;
};

/// The whole text at once.
Tokens tokenize(std::string_view ptx);

}  // namespace ptxloom::text
