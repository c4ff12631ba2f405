// SPDX-License-Identifier: Apache-2.0
#include "spec/template.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "spec/cell.hpp"

namespace ptxloom::spec {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// -1 if the text is not a number.
int number_of(std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : -1;
}

/// Appends the value of the factors; false if a slot is absent or the value is not a number.
bool append_value(std::span<const Template::Factor> factors, Values values, std::string& out) {
  const auto text = [&](const Template::Factor& f) { return values[static_cast<std::size_t>(f.slot)]; };
  if (factors.size() == 1 && factors[0].slot >= 0) {
    const std::string_view value = text(factors[0]);
    if (value.data() == nullptr || value == kAbsent) return false;
    out += value;
    return true;
  }
  int result = 1;
  for (const Template::Factor& factor : factors) {
    const int operand = factor.slot >= 0 ? number_of(text(factor)) : factor.number;
    if (operand < 0 || (factor.divides && operand == 0)) return false;
    result = factor.divides ? result / operand : result * operand;
  }
  out += std::to_string(result);
  return true;
}

}  // namespace

int SlotNames::add(std::string_view name) {
  const int known = find(name);
  if (known >= 0) return known;
  names_.push_back(name);
  return static_cast<int>(names_.size()) - 1;
}

int SlotNames::find(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  return found == names_.end() ? -1 : static_cast<int>(found - names_.begin());
}

void Template::add_bracket(std::string_view inside, SlotNames& slots, Place place) {
  // A blank ends the prefix; without one, the prefix is the leading punctuation.
  std::size_t start = inside.rfind(' ');
  std::string_view prefix = inside.substr(0, start == inside.npos ? 0 : start);
  if (start == inside.npos) {
    start = 0;
    while (start < inside.size() && !is_word(inside[start])) ++start;
    prefix = inside.substr(0, start);
  } else {
    ++start;
  }
  Piece& piece = pieces_.back();
  piece.prefix = prefix;
  std::string_view rest = inside.substr(start);
  bool divides = false;
  while (true) {
    const std::size_t end = std::min(rest.find_first_of("*/"), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (word.empty() || !std::all_of(word.begin(), word.end(), is_word)) {
      fail("spec-text", place, "<" + std::string(inside) + "> is not a slot",
           "write <slot>, <.slot>, <prefix slot> or <slot*2/other>");
    }
    const int number = number_of(word);
    piece.factors.push_back(
        {.divides = divides, .slot = number < 0 ? slots.add(word) : -1, .number = number});
    if (end == rest.size()) return;
    divides = rest[end] == '/';
    rest = rest.substr(end + 1);
  }
}

Template Template::parse(std::string_view text, SlotNames& slots, Place place) {
  Template result;
  while (!text.empty()) {
    const std::size_t open = text.find('<');
    result.pieces_.push_back({.literal = text.substr(0, open), .prefix = {}, .factors = {}});
    if (open == text.npos) break;
    const std::size_t close = text.find('>', open);
    if (close == text.npos) fail("spec-text", place, "a '<' is not closed in " + quote(text));
    result.add_bracket(text.substr(open + 1, close - open - 1), slots, place);
    text = text.substr(close + 1);
  }
  return result;
}

void Template::render(Values values, Absent absent, std::string& out) const {
  for (const Piece& piece : pieces_) {
    out += piece.literal;
    if (piece.factors.empty()) continue;
    const std::size_t before = out.size();
    out += piece.prefix;
    if (append_value(piece.factors, values, out)) continue;
    out.resize(before);
    if (absent == Absent::dash) out += kAbsent;
  }
}

std::string Template::render(Values values, Absent absent) const {
  std::string out;
  render(values, absent, out);
  return out;
}

std::vector<int> Template::slots() const {
  std::vector<int> result;
  for (const Piece& piece : pieces_) {
    for (const Factor& factor : piece.factors) {
      if (factor.slot >= 0 && std::find(result.begin(), result.end(), factor.slot) == result.end()) {
        result.push_back(factor.slot);
      }
    }
  }
  return result;
}

}  // namespace ptxloom::spec
