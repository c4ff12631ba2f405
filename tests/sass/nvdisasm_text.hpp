// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "sass/instruction/decode.hpp"

namespace ptxloom::test {

/// What nvdisasm's text of an instruction says of what a Decoder finds.
struct TextFacts {
  std::string opcode;                  ///< without modifiers
  std::string guard;                   ///< "@!P0"; empty: none
  std::vector<std::string> registers;  ///< in the order of the text
  int reuse = 0;                       ///< operands that are marked as kept
  friend bool operator==(const TextFacts&, const TextFacts&) = default;
};

inline bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.';
}

/// Registers in operands: R1, UR1, P1, UP1, B1, SB1. Words that begin otherwise, and symbols, are none.
inline std::vector<std::string> registers_in(std::string_view operands) {
  std::vector<std::string> registers;
  for (std::size_t at = 0; at < operands.size();) {
    if (operands[at] == '`') {  // `(symbol)
      at = std::min(operands.find(')', at), operands.size());
      continue;
    }
    if (!is_word(operands[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < operands.size() && is_word(operands[at])) ++at;
    std::string_view word = operands.substr(begin, at - begin);
    word = word.substr(0, word.find('.'));
    for (const std::string_view kind : {"UR", "UP", "SB", "R", "P", "B"}) {
      if (!word.starts_with(kind) || word.size() == kind.size()) continue;
      if (std::ranges::all_of(word.substr(kind.size()), [](char c) { return c >= '0' && c <= '9'; })) {
        registers.emplace_back(word);
        break;
      }
    }
  }
  return registers;
}

inline TextFacts facts_of(std::string_view text) {
  TextFacts facts;
  if (text.starts_with('@')) {
    facts.guard = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.find_first_not_of(' ', facts.guard.size()), text.size()));
  }
  const std::string_view word = text.substr(0, text.find(' '));
  facts.opcode = word.substr(0, word.find('.'));
  text.remove_prefix(word.size());
  facts.registers = registers_in(text);
  for (std::size_t at = text.find(".reuse"); at != text.npos; at = text.find(".reuse", at + 1)) ++facts.reuse;
  return facts;
}

/// The same of what was decoded.
inline TextFacts facts_of(const sass::Decoded& decoded, unsigned reuse) {
  TextFacts facts{.opcode = std::string(decoded.opcode), .guard = {}, .registers = {}};
  if (decoded.negated || decoded.guard.number != 7) {
    facts.guard = std::string(decoded.negated ? "@!" : "@") + std::string(decoded.guard.kind) +
                  (decoded.guard.number == 7 ? "T" : std::to_string(decoded.guard.number));
  }
  for (const sass::Register& value : decoded.registers) facts.registers.push_back(to_string(value));
  for (; decoded.reuse && reuse != 0; reuse >>= 1U) facts.reuse += static_cast<int>(reuse & 1U);
  return facts;
}

}  // namespace ptxloom::test
