// SPDX-License-Identifier: Apache-2.0
#include "spec/cell.hpp"

#include <algorithm>
#include <charconv>

namespace ptxloom::spec {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  split(text, separator, parts);
  return parts;
}

void split(std::string_view text, char separator, std::vector<std::string_view>& parts) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    if (end > at || separator != ' ') parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
}

Sets::Sets(std::span<const Entry> own, std::span<const Entry> shared, Arena& arena, Place place)
    : arena_(arena), place_(place) {
  sets_.reserve(own.size() + shared.size());
  for (const auto entries : {own, shared}) {
    for (const Entry& entry : entries)
      sets_.push_back({.name = entry.key, .text = entry.value, .values = {}});
  }
}

std::string_view Sets::text(std::string_view name) const {
  for (const Set& set : sets_) {
    if (set.name == name) return set.text;
  }
  std::string known;
  for (const Set& set : sets_) known += " @" + std::string(set.name);
  fail("spec-unknown-set", place_, "there is no set @" + std::string(name),
       "sets here:" + (known.empty() ? " none" : known));
}

std::span<const Alternative> Sets::expand_set(std::string_view name) {
  text(name);  // validates that it exists
  Set& set = *std::find_if(sets_.begin(), sets_.end(), [&](const Set& s) { return s.name == name; });
  if (set.expanding) fail("spec-set-cycle", place_, "the set @" + std::string(name) + " contains itself");
  if (!set.expanded) {
    set.expanding = true;
    set.values = expand(set.text);
    set.expanding = false;
    set.expanded = true;
  }
  return set.values;
}

bool Sets::expand_range(std::string_view word, std::vector<Alternative>& out) {
  const std::size_t dots = word.find("..");
  if (dots == word.npos || word.front() < '0' || word.front() > '9') return false;
  int first = 0, last = 0, step = 1;
  const char* const end = word.data() + word.size();
  auto result = std::from_chars(word.data(), word.data() + dots, first);
  result = std::from_chars(word.data() + dots + 2, end, last);
  if (result.ec != std::errc{}) return false;
  if (result.ptr != end && *result.ptr == '/') result = std::from_chars(result.ptr + 1, end, step);
  if (result.ptr != end || step <= 0) return false;
  for (int value = first; value <= last; value += step) out.push_back({arena_.keep(std::to_string(value))});
  return true;
}

void Sets::expand_into(std::string_view choice, std::vector<Alternative>& out) {
  for (std::size_t at = 0; at <= choice.size();) {
    const std::string_view word = choice.substr(at, choice.find('|', at) - at);
    at += word.size() + 1;
    if (word.empty()) fail("spec-cell", place_, "the cell " + quote(choice) + " has an empty alternative");
    if (word.front() == '@') {
      const auto values = expand_set(word.substr(1));
      out.insert(out.end(), values.begin(), values.end());
    } else if (word.front() == '(' && word.back() == ')') {
      out.push_back({word.substr(1, word.size() - 2), Spelling::implied});
    } else if (word.back() == '?') {
      out.push_back({word.substr(0, word.size() - 1), Spelling::optional});
    } else if (!expand_range(word, out)) {
      out.push_back({word, Spelling::written});
    }
  }
}

std::span<const Alternative> Sets::expand(std::string_view choice) {
  if (choice.starts_with('@') && choice.find('|') == choice.npos) return expand_set(choice.substr(1));
  std::vector<Alternative> values = std::move(scratch_);
  values.clear();
  expand_into(choice, values);
  const std::span<const Alternative> kept = arena_.keep(std::span<const Alternative>(values));
  scratch_ = std::move(values);
  return kept;
}

Cell parse_cell(std::string_view text, Sets& sets) {
  Cell cell;
  if (text == "*") return cell;
  if (text.starts_with('=')) {
    cell.kind = Cell::Kind::same_as;
    cell.column = text.substr(1);
  } else if (text.starts_with('!')) {
    cell.kind = Cell::Kind::none_of;
    cell.values = sets.expand(text.substr(1));
  } else {
    cell.kind = Cell::Kind::one_of;
    cell.values = sets.expand(text);
  }
  return cell;
}

}  // namespace ptxloom::spec
