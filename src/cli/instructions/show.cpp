// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/command.hpp"
#include "cli/common/table.hpp"
#include "cli/instructions/opcode.hpp"
#include "cli/instructions/show.hpp"
#include "spec/database.hpp"

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ShowFlags {
  std::string what;
  std::string target;
  bool json = false;
};

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

std::string names_of(const std::vector<Target>& targets) {
  std::string names;
  for (const Target& target : targets) names += " " + std::string(target.name());
  return names;
}

void print_text(const Specs& specs, Variant variant, const std::optional<Target>& target) {
  const Specs::FormInfo form = specs.info(variant.form());
  fmt::print("{}\n", example(variant));
  fmt::print("  form {}: {}\n", form.name, form.doc);
  if (variant.undocumented())
    fmt::print("  undocumented: ptxas accepts it, but the manual does not document it{}{}\n",
               form.undocumented.empty() ? "" : "; ", form.undocumented);
  std::vector<std::vector<std::string>> rows;
  for (const OperandSpec& operand : variant.operands()) {
    rows.push_back({"   ", operand.name, std::string(direction_name(operand.direction)), operand.describe(),
                    fragment_text(variant.fragment(operand.name))});
  }
  fmt::print("  operands\n{}", format_table(rows));
  rows.clear();
  for (const Modifier& modifier : modifiers(specs, variant.form(), target)) {
    rows.push_back({"   ", modifier.name, line_of(modifier.values)});
  }
  if (!rows.empty()) fmt::print("  modifiers of the form {}\n{}", form.text, format_table(rows));
  const Places places = targets_of(specs, variant);
  const std::vector<Target> emulated = emulating(specs, variant);
  fmt::print("  targets{} (from PTX)\n    {}\n", emulated.empty() ? "" : ", native", to_text(places));
  if (!emulated.empty()) fmt::print("  targets, emulated by ptxloom/lower.hpp\n   {}\n", names_of(emulated));
  fmt::print("  to assemble and to load it (or later)\n{}", requirements_text(places));
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
  for (const Modifier& modifier : modifiers(specs, variant.form(), target))
    slots[modifier.name] = modifier.values;
  auto emulated = Json::array();
  for (const Target& other : emulating(specs, variant)) emulated.push_back(other.name());
  return {{"opcode", variant.opcode()},
          {"example", example(variant)},
          {"form", form.name},
          {"family", form.family},
          {"doc", form.doc},
          {"text", form.text},
          {"undocumented", variant.undocumented()},
          {"found", form.undocumented.empty() ? Json(nullptr) : Json(form.undocumented)},
          {"operands", std::move(operands)},
          {"modifiers", std::move(slots)},
          {"targets", to_json(targets_of(specs, variant))},
          {"emulated", std::move(emulated)}};
}

/// A type by its name, with or without the dot, also a packed one and those of overlays.
std::optional<Type> type_named(const Specs& specs, const std::string& name) {
  const std::string_view bare = std::string_view(name).substr(name.starts_with('.') ? 1 : 0);
  const spec::TypeData* const type = specs.database().vocabulary().type(bare);
  return type == nullptr ? std::nullopt : std::optional(type->type);
}

bool is_form(const Specs& specs, const std::string& name) {
  return specs.database().find_form(name) != nullptr;
}

int run_show(const Tool& tool, const ShowFlags& options) {
  const auto specs = tool.specs();
  std::optional<Target> target;
  if (!options.target.empty()) target = specs->target(options.target);
  Json json = {{"schema", 1}, {"variants", Json::array()}};
  if (const auto type = type_named(*specs, options.what)) {
    options.json ? void(json["type"] = type_json(*specs, *type, target)) : print_type(*specs, *type, target);
  } else if (is_form(*specs, options.what) && !means_one_opcode(*specs, options.what)) {
    options.json ? void(json["form"] = form_json(*specs, options.what, target))
                 : print_form(*specs, options.what, target);
  } else {
    for (const Variant& variant : find_opcode(*specs, options.what, target))
      options.json ? json["variants"].push_back(variant_json(*specs, variant, target))
                   : print_text(*specs, variant, target);
  }
  if (options.json) fmt::print("{}\n", json.dump(1));
  return 0;
}

}  // namespace

void add_show(Tool& tool) {
  tool.command<ShowFlags>(
      "show",
      "show an instruction or form (operands, modifiers, targets, fragment maps) or a type (bits, range)",
      [](CLI::App& command, ShowFlags& options) {
        command
            .add_option(
                "name", options.what,
                "an opcode: in full, a prefix, or with ... for any modifiers; a form, as list names it; "
                "or an element type")
            ->required()
            ->type_name("OPCODE|FORM|TYPE");
        command.add_option("--target", options.target, "only what this target has")->type_name("T");
        command.add_flag("--json", options.json, "print JSON (docs/json/show.json)");
      },
      run_show);
}

}  // namespace ptxloom::cli
