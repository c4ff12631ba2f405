// SPDX-License-Identifier: Apache-2.0
#include "spec/digits.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace ptxloom::spec {
namespace {

/// A number from 1 to kMostDigits that makes up the whole text; 0 if it is not one.
int positive(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && value > 0 && value <= kMostDigits ? value : 0;
}

Digit parse_digit(std::string_view word, Place place) {
  const std::size_t star = word.find('*');
  Digit digit{.radix = positive(word.substr(0, star)), .axis = '\0', .stride = 1, .selector = {}};
  if (digit.radix != 0 && star != word.npos && star + 2 < word.size()) {
    const char axis = word[star + 1];
    const std::string_view rest = word.substr(star + 2);
    if (axis == '=') {
      const std::size_t slash = rest.find('/');
      digit.selector = rest.substr(0, slash);
      if (slash != rest.npos) digit.stride = positive(rest.substr(slash + 1));
      if (!digit.selector.empty() && digit.stride != 0) return digit;
    } else if (kAxes.find(axis) != kAxes.npos && positive(rest) != 0) {
      digit.axis = axis;
      digit.stride = positive(rest);
      return digit;
    }
  }
  fail("spec-fragment", place, quote(word) + " is not a digit of a fragment map",
       "write radix*axis and stride, as in 4*k2, with an axis of m k n i; or 2*=TA for a selector");
}

}  // namespace

std::vector<Digit> parse_digits(std::string_view text, Place place) {
  std::vector<Digit> digits;
  for (std::size_t at = text.find_first_not_of(' '); at != text.npos; at = text.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    Digit digit = parse_digit(text.substr(at, end - at), place);
    if (digit.axis == '\0' || digit.radix > 1) digits.push_back(std::move(digit));
    at = end;
  }
  return digits;
}

int index_count(std::span<const Digit> digits) {
  std::int64_t product = 1;
  for (const Digit& digit : digits) product = std::min<std::int64_t>(product * digit.radix, kMostIndices);
  return static_cast<int>(product);
}

int selected_digit(const Digit& selector, int operand_value) {
  const int digit = operand_value / selector.stride;
  return operand_value >= 0 && operand_value % selector.stride == 0 && digit < selector.radix ? digit : -1;
}

bool add_coordinates(std::span<const Digit> digits, int index, std::span<const Selected> selected,
                     Coordinates& into) {
  for (const Digit& digit : digits) {
    const int value = index % digit.radix;
    index /= digit.radix;
    if (digit.axis != '\0') {
      into[digit.axis] += value * digit.stride;
      continue;
    }
    const auto chosen = std::find_if(selected.begin(), selected.end(),
                                     [&](const Selected& s) { return s.operand == digit.selector; });
    if (value != (chosen == selected.end() ? 0 : selected_digit(digit, chosen->value))) return false;
  }
  return true;
}

}  // namespace ptxloom::spec
