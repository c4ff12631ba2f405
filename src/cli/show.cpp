// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/command.hpp"
#include "cli/opcode.hpp"
#include "cli/table.hpp"

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ShowFlags {
  std::string opcode;
  std::string target;
  bool json = false;
};

/// A modifier of a form, and the values it takes in the form's variants, in their order; "-" = left out.
struct Modifier {
  std::string name;
  std::vector<std::string> values;
};

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

std::vector<Modifier> modifiers(const Specs& specs, Variant variant, const std::optional<Target>& target) {
  std::vector<Modifier> all;
  for (std::string& name : slot_names(specs.info(variant.form()).text)) all.push_back({std::move(name), {}});
  for (const Variant other : specs.variants(variant.form())) {
    if (target && !other.since(*target)) continue;
    for (Modifier& modifier : all) {
      const std::string value(other.slot(modifier.name).value_or("-"));
      if (std::ranges::find(modifier.values, value) == modifier.values.end())
        modifier.values.push_back(value);
    }
  }
  return all;
}

std::vector<std::pair<std::string_view, Version>> targets_of(const Specs& specs, Variant variant) {
  std::vector<std::pair<std::string_view, Version>> all;
  for (const Target& target : specs.targets()) {
    if (const auto since = variant.since(target)) all.emplace_back(target.name(), *since);
  }
  return all;
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

/// The fields of a fragment map as specs/README.md names them.
std::array<std::pair<const char*, std::string>, 6> parts_of(const Variant::FragmentMap& map) {
  return {{{"type", map.type},
           {"warp", map.warp},
           {"lane", map.lane},
           {"val", map.val},
           {"bits", map.bits},
           {"block", map.block}}};
}

std::string fragment_text(const Variant::FragmentMap& map) {
  std::string text;
  for (const auto& [name, part] : parts_of(map)) {
    if (!part.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : "; ", name, part);
  }
  return text;
}

/// The number a value is; nullopt for words.
std::optional<int> number_of(const std::string& value) {
  int number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size()) return std::nullopt;
  return number;
}

/// The values in a line; four or more numbers in equal steps as "8..256/8".
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

void print_text(const Specs& specs, Variant variant, const std::optional<Target>& target) {
  const Specs::FormInfo form = specs.info(variant.form());
  fmt::print("{}\n", example(variant));
  fmt::print("  form {}: {}\n", form.name, form.doc);
  if (variant.undocumented()) fmt::print("  undocumented: ptxas takes it, the manual does not promise it\n");
  std::vector<std::vector<std::string>> rows;
  for (const OperandSpec& operand : variant.operands()) {
    rows.push_back({"   ", operand.name, std::string(direction_name(operand.direction)), operand.describe(),
                    fragment_text(variant.fragment(operand.name))});
  }
  fmt::print("  operands\n{}", format_table(rows));
  rows.clear();
  for (const Modifier& modifier : modifiers(specs, variant, target)) {
    rows.push_back({"   ", modifier.name, line_of(modifier.values)});
  }
  if (!rows.empty()) fmt::print("  modifiers of the form {}\n{}", form.text, format_table(rows));
  std::vector<std::string> places;
  for (const auto& [name, since] : targets_of(specs, variant))
    places.push_back(fmt::format("{} ({})", name, to_string(since)));
  fmt::print("  targets (from PTX)\n    {}\n", fmt::join(places, " "));
}

Json operand_json(Variant variant, const OperandSpec& operand) {
  Json json = {{"name", operand.name},
               {"direction", direction_name(operand.direction)},
               {"type", operand.type.name},
               {"registers", operand.kind == OperandSpec::Kind::value ? operand.registers() : 0},
               {"description", operand.describe()},
               {"fragment", nullptr}};
  const Variant::FragmentMap map = variant.fragment(operand.name);
  if (!map.empty()) {
    auto& fragment = json["fragment"] = Json::object();
    for (const auto& [name, part] : parts_of(map)) fragment[name] = part;
  }
  return json;
}

Json variant_json(const Specs& specs, Variant variant, const std::optional<Target>& target) {
  const Specs::FormInfo form = specs.info(variant.form());
  auto operands = Json::array();
  for (const OperandSpec& operand : variant.operands()) operands.push_back(operand_json(variant, operand));
  Json slots = Json::object();
  for (const Modifier& modifier : modifiers(specs, variant, target)) slots[modifier.name] = modifier.values;
  auto places = Json::array();
  for (const auto& [name, since] : targets_of(specs, variant))
    places.push_back({{"target", name}, {"since", to_string(since)}});
  return {{"opcode", variant.opcode()},
          {"example", example(variant)},
          {"form", form.name},
          {"family", form.family},
          {"doc", form.doc},
          {"text", form.text},
          {"undocumented", variant.undocumented()},
          {"operands", std::move(operands)},
          {"modifiers", std::move(slots)},
          {"targets", std::move(places)}};
}

int run_show(const Tool& tool, const ShowFlags& options) {
  const auto specs = tool.specs();
  std::optional<Target> target;
  if (!options.target.empty()) target = specs->target(options.target);
  const std::vector<Variant> variants = find_opcode(*specs, options.opcode, target);
  if (!options.json) {
    for (const Variant variant : variants) print_text(*specs, variant, target);
    return 0;
  }
  auto list = Json::array();
  for (const Variant variant : variants) list.push_back(variant_json(*specs, variant, target));
  fmt::print("{}\n", Json{{"schema", 1}, {"variants", std::move(list)}}.dump(1));
  return 0;
}

}  // namespace

void add_show(Tool& tool) {
  tool.command<ShowFlags>(
      "show", "an instruction: operands, modifiers, targets, fragment maps",
      [](CLI::App& command, ShowFlags& options) {
        command.add_option("opcode", options.opcode, "in full, a prefix, or with ... for any modifiers")
            ->required();
        command.add_option("--target", options.target, "as this target has it")->type_name("T");
        command.add_flag("--json", options.json, "docs/json/show.json");
      },
      run_show);
}

}  // namespace ptxloom::cli
