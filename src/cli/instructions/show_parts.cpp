// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/common/requirement_json.hpp"
#include "cli/common/table.hpp"
#include "cli/instructions/show.hpp"
#include "ptxloom/lower.hpp"
#include "spec/variant.hpp"

namespace ptxloom::cli {
namespace {

/// The names between < and > in a form's text: "<.sp>" and "<.scale_vec:: sv>" are sp and sv.
std::vector<std::string> slot_names(std::string_view text) {
  std::vector<std::string> names;
  while (true) {
    const std::size_t open = text.find('<');
    const std::size_t close = text.find('>', open);
    if (open == std::string_view::npos || close == std::string_view::npos) return names;
    const std::string_view slot = text.substr(open + 1, close - open - 1);
    text.remove_prefix(close + 1);
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    const auto begin = std::find_if_not(slot.rbegin(), slot.rend(), is_word).base();
    std::string name(begin, slot.end());
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
}

/// The value as a number; nullopt if it is not numeric.
std::optional<int> number_of(const std::string& value) {
  int number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size()) return std::nullopt;
  return number;
}

}  // namespace

std::vector<Modifier> modifiers(const Specs& specs, std::string_view form,
                                const std::optional<Target>& target) {
  std::vector<Modifier> all;
  for (std::string& name : slot_names(specs.info(form).text)) all.push_back({std::move(name), {}});
  for (const Variant& other : specs.variants(form)) {
    if (target && !other.since(*target)) continue;
    for (Modifier& modifier : all) {
      const std::string value(other.slot(modifier.name).value_or("-"));
      if (std::ranges::find(modifier.values, value) == modifier.values.end())
        modifier.values.push_back(value);
    }
  }
  return all;
}

std::string line_of(const std::vector<std::string>& values) {
  std::string line;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t end = i + 1;
    const auto first = number_of(values[i]);
    const auto second = end < values.size() ? number_of(values[end]) : std::nullopt;
    const int step = first && second ? *second - *first : 0;
    while (step > 0 && end < values.size() &&
           number_of(values[end]) == *first + step * static_cast<int>(end - i))
      ++end;
    const bool range = end - i >= 4;
    line += line.empty() ? "" : " ";
    line +=
        range ? fmt::format("{}..{}{}", values[i], values[end - 1], step == 1 ? "" : fmt::format("/{}", step))
              : values[i];
    i = range ? end : i + 1;
  }
  return line;
}

Places targets_of(const Specs& specs, Variant variant) {
  Places all;
  for (const Target& target : specs.targets()) {
    if (const auto since = variant.since(target)) all.emplace_back(target, *since);
  }
  return all;
}

Places targets_of(const Specs& specs, std::string_view form) {
  std::map<std::vector<spec::Needs>, Variant> by_needs;  // few, for thousands of variants
  for (const Variant& variant : specs.variants(form)) by_needs.try_emplace(variant.data()->needs, variant);
  Places all;
  for (const Target& target : specs.targets()) {
    std::optional<Version> lowest;
    for (const auto& [needs, variant] : by_needs) {
      const auto since = variant.since(target);
      if (since && (!lowest || *since < *lowest)) lowest = since;
    }
    if (lowest) all.emplace_back(target, *lowest);
  }
  return all;
}

std::string to_text(const Places& places) {
  std::string text;
  for (const auto& [target, since] : places)
    text += fmt::format("{}{} ({})", text.empty() ? "" : " ", target.name(), to_string(since));
  return text;
}

std::string requirements_text(const Places& places) {
  std::map<std::pair<Version, std::string>, std::string> targets;  // by PTX version and what it takes
  for (const auto& [target, since] : places) {
    std::string& names = targets[{since, to_string(requirement_of(target, since))}];
    names += fmt::format("{}{}", names.empty() ? "" : " ", target.name());
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& [needs, names] : targets)
    rows.push_back({"   ", "PTX " + to_string(needs.first), needs.second, names});
  return format_table(rows);
}

nlohmann::ordered_json to_json(const Places& places) {
  auto json = nlohmann::ordered_json::array();
  for (const auto& [target, since] : places) {
    nlohmann::ordered_json& place = json.emplace_back();
    place["target"] = target.name();
    place.update(requirement_json(target, since));
  }
  return json;
}

std::vector<Target> emulating(const Specs& specs, const Variant& variant) {
  std::vector<Target> targets = specs.targets();
  std::erase_if(targets, [&](const Target& target) {
    return lower::support(specs, variant, target) != lower::Support::emulated;
  });
  return targets;
}

std::string_view direction_name(OperandSpec::Direction direction) {
  switch (direction) {
    case OperandSpec::Direction::in:
      return "in";
    case OperandSpec::Direction::out:
      return "out";
    default:
      return "inout";
  }
}

}  // namespace ptxloom::cli
