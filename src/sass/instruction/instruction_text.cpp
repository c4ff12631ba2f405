// SPDX-License-Identifier: Apache-2.0
#include "sass/instruction/instruction_text.hpp"

#include <algorithm>

namespace ptxloom::sass {
namespace {

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// The word at the front, which is removed with the blanks after it.
std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  text = without_blanks(text);
  return word;
}

std::vector<std::string_view> operands_in(std::string_view text) {
  std::vector<std::string_view> operands;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (c != ',' || depth > 0) continue;
    operands.push_back(without_blanks(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  if (begin < text.size()) operands.push_back(without_blanks(text.substr(begin)));
  return operands;
}

}  // namespace

bool InstructionText::has(std::string_view wanted) const {
  for (std::size_t at = modifiers.find(wanted); at != modifiers.npos; at = modifiers.find(wanted, at + 1))
    if (modifiers[at - 1] == '.' && modifiers[at + wanted.size()] == '.') return true;
  return false;
}

InstructionText split_text(std::string_view text) {
  text = without_blanks(text);
  InstructionText parts;
  if (text.starts_with('@')) parts.guard = take_word(text).substr(1);
  const std::string_view word = take_word(text);
  parts.opcode = word.substr(0, word.find('.'));
  parts.modifiers = std::string(word.substr(parts.opcode.size())) + ".";
  // Remarks about the targets of indirect branches are no operands.
  parts.operands = operands_in(text.substr(0, text.find("(*")));
  return parts;
}

std::string_view label_in(const InstructionText& text) {
  for (std::string_view operand : text.operands) {
    const std::size_t at = operand.find("`(");
    if (at == operand.npos) continue;
    operand.remove_prefix(at + 2);
    return operand.substr(0, operand.find(')'));
  }
  return {};
}

}  // namespace ptxloom::sass
