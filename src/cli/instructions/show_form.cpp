// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/common/table.hpp"
#include "cli/instructions/show.hpp"
#include "spec/variant.hpp"

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;

/// The alternatives at one position of the form's text.
struct OperandPlace {
  std::string name;
  std::string_view direction;
  std::vector<std::string> choices;
};

struct FormFacts {
  std::size_t opcodes = 0, undocumented = 0;
  std::vector<OperandPlace> operands;
};

FormFacts facts_of(const Specs& specs, std::string_view form, const std::optional<Target>& target) {
  FormFacts facts;
  std::set<std::string_view> opcodes, documented;
  std::set<const void*> seen;  // variants share their operands
  for (const Variant& variant : specs.variants(form)) {
    if (target && !variant.since(*target)) continue;
    opcodes.insert(variant.opcode());
    if (!variant.undocumented()) documented.insert(variant.opcode());
    if (!seen.insert(variant.data()->operands).second) continue;
    for (const OperandSpec& operand : variant.operands()) {
      auto place = std::ranges::find(facts.operands, operand.name, &OperandPlace::name);
      if (place == facts.operands.end()) {
        facts.operands.push_back({operand.name, direction_name(operand.direction), {}});
        place = facts.operands.end() - 1;
      }
      const std::string choice = operand.describe();
      if (std::ranges::find(place->choices, choice) == place->choices.end()) place->choices.push_back(choice);
    }
  }
  facts.opcodes = opcodes.size();
  facts.undocumented = opcodes.size() - documented.size();
  return facts;
}

void require_any(const FormFacts& facts, std::string_view form, const std::optional<Target>& target) {
  if (facts.opcodes != 0) return;
  throw Error(ErrorKind::illegal_ptx, "not-on-target",
              fmt::format("no instruction of the form {1} is on {0}", target->name(), form),
              fmt::format("ptxloom show {} names the targets that have it", form));
}

}  // namespace

void print_form(const Specs& specs, std::string_view form, const std::optional<Target>& target) {
  constexpr std::size_t most = 8;  // choices per line
  const Specs::FormInfo info = specs.info(form);
  const FormFacts facts = facts_of(specs, form, target);
  require_any(facts, form, target);
  fmt::print("{}\n  form {} of {}: {}\n", info.text, info.name, info.family, info.doc);
  fmt::print("  opcodes: {}{}; ptxloom list {} --variants lists them\n", facts.opcodes,
             facts.undocumented == 0
                 ? ""
                 : fmt::format(
                       ", {} of them undocumented: ptxas accepts them, but the manual does not document them",
                       facts.undocumented),
             info.name);
  if (!info.undocumented.empty()) fmt::print("  undocumented: {}\n", info.undocumented);
  std::vector<std::vector<std::string>> rows;
  for (const OperandPlace& place : facts.operands) {
    const std::span<const std::string> shown(place.choices.data(), std::min(place.choices.size(), most));
    rows.push_back(
        {"   ", place.name, std::string(place.direction),
         fmt::format(
             "{}{}", fmt::join(shown, " | "),
             place.choices.size() > most ? fmt::format(" | and {} more", place.choices.size() - most) : "")});
  }
  if (!rows.empty()) fmt::print("  operands\n{}", format_table(rows));
  rows.clear();
  for (const Modifier& modifier : modifiers(specs, form, target))
    rows.push_back({"   ", modifier.name, line_of(modifier.values)});
  if (!rows.empty()) fmt::print("  modifiers\n{}", format_table(rows));
  const Places places = targets_of(specs, form);
  fmt::print("  targets (from PTX)\n    {}\n", to_text(places));
  fmt::print("  to assemble and to load it (or later)\n{}", requirements_text(places));
}

Json form_json(const Specs& specs, std::string_view form, const std::optional<Target>& target) {
  const Specs::FormInfo info = specs.info(form);
  const FormFacts facts = facts_of(specs, form, target);
  require_any(facts, form, target);
  Json slots = Json::object();
  for (const Modifier& modifier : modifiers(specs, form, target)) slots[modifier.name] = modifier.values;
  auto operands = Json::array();
  for (const OperandPlace& place : facts.operands)
    operands.push_back({{"name", place.name}, {"direction", place.direction}, {"choices", place.choices}});
  return {{"form", info.name},
          {"family", info.family},
          {"doc", info.doc},
          {"text", info.text},
          {"opcodes", facts.opcodes},
          {"undocumented", facts.undocumented},
          {"found", info.undocumented.empty() ? Json(nullptr) : Json(info.undocumented)},
          {"operands", std::move(operands)},
          {"modifiers", std::move(slots)},
          {"targets", to_json(targets_of(specs, form))}};
}

}  // namespace ptxloom::cli
