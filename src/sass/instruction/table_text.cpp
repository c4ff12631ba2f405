// SPDX-License-Identifier: Apache-2.0
#include "sass/instruction/table_text.hpp"

#include <charconv>

namespace ptxloom::sass {
namespace {

int number_in(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// "-", "90", "80..90".
bool is_in_range(std::string_view chips, int chip) {
  if (chips == "-") return true;
  const std::size_t dots = chips.find("..");
  if (dots == chips.npos) return number_in(chips) == chip;
  const std::string_view first = chips.substr(0, dots), last = chips.substr(dots + 2);
  return (first.empty() || chip >= number_in(first)) && (last.empty() || chip <= number_in(last));
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (const std::string_view part = text.substr(0, end); !part.empty()) parts.emplace_back(part);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return parts;
}

bool has_chip(std::string_view chips, int chip) {
  while (true) {
    const std::size_t end = chips.find('|');
    if (is_in_range(chips.substr(0, end), chip)) return true;
    if (end == chips.npos) return false;
    chips.remove_prefix(end + 1);
  }
}

}  // namespace ptxloom::sass
