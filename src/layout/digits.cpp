// SPDX-License-Identifier: Apache-2.0
#include "layout/digits.hpp"

#include <charconv>

#include "ptxloom/error.hpp"

namespace ptxloom::layout_digits {
namespace {

Digit parse_digit(std::string_view word) {
  Digit digit;
  const char* const end = word.data() + word.size();
  const auto [star, error] = std::from_chars(word.data(), end, digit.radix);
  if (error == std::errc{} && star != end && *star == '*' && star + 1 != end && digit.radix > 0) {
    const char axis = star[1];
    if (axis == '=') {
      digit.selector.assign(star + 2, end);
      return digit;
    }
    digit.axis = axis;
    const auto [last, stride_error] = std::from_chars(star + 2, end, digit.stride);
    if (kAxes.find(axis) != kAxes.npos && stride_error == std::errc{} && last == end) return digit;
  }
  throw Error(ErrorKind::usage, "bad-layout", "'" + std::string(word) + "' is no digit of a fragment map",
              "write radix*axis and stride, as in 4*k2, with an axis of m k n i; or 2*=TA for a selector");
}

}  // namespace

std::vector<Digit> parse(std::string_view text) {
  std::vector<Digit> digits;
  for (std::size_t at = text.find_first_not_of(' '); at != text.npos; at = text.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    digits.push_back(parse_digit(text.substr(at, end - at)));
    at = end;
  }
  return digits;
}

int index_count(std::span<const Digit> digits) {
  int product = 1;
  for (const Digit& digit : digits) product *= digit.radix;
  return product;
}

bool add(std::span<const Digit> digits, int index, std::span<const Selected> selected, Coordinates& into) {
  for (const Digit& digit : digits) {
    const int value = index % digit.radix;
    index /= digit.radix;
    if (digit.axis != '\0') {
      into[digit.axis] += value * digit.stride;
      continue;
    }
    int wanted = 0;
    for (const Selected& selector : selected) {
      if (selector.name == digit.selector) wanted = selector.value;
    }
    if (value != wanted) return false;
  }
  return true;
}

}  // namespace ptxloom::layout_digits
