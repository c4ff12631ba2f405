// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/dotted.hpp"
#include "base/nearest.hpp"
#include "cli/command.hpp"
#include "cli/table.hpp"
#include "spec/database.hpp"

namespace ptxloom::cli {
namespace {

struct ListFlags {
  std::string family;
  std::string target;
  bool variants = false;
  bool json = false;
};

/// The forms asked for: all, those of a family (or of all that begin so), or one by its name.
std::vector<Specs::FormInfo> chosen_forms(const Specs& specs, const std::string& wanted) {
  std::vector<Specs::FormInfo> forms;
  std::vector<std::string> known;
  for (const std::string_view name : specs.forms()) {
    const Specs::FormInfo form = specs.info(name);
    if (wanted.empty() || begins_with_words(form.family, wanted) || form.name == wanted)
      forms.push_back(form);
    known.emplace_back(form.family);
    known.emplace_back(form.name);
  }
  if (forms.empty() && !wanted.empty()) {
    throw Error(ErrorKind::usage, "unknown-family", fmt::format("there is no family or form '{}'", wanted),
                fmt::format("did you mean '{}'? ptxloom list shows all", nearest(wanted, known)));
  }
  return forms;
}

std::vector<Variant> variants_of(const Specs& specs, std::string_view form,
                                 const std::optional<Target>& target) {
  std::vector<Variant> variants = specs.variants(form);
  if (target) std::erase_if(variants, [&](Variant v) { return !v.since(*target); });
  return variants;
}

std::string since_text(Variant variant, const std::optional<Target>& target) {
  return target ? "PTX " + to_string(*variant.since(*target)) : "";
}

bool is_on(const Specs& specs, std::string_view form, const Target& target) {
  const spec::Database& database = specs.database();
  return spec::exists_on(database.form(*database.find_form(form)), target);
}

/// Variants are only made where they are asked for, there are hundreds of thousands: listing the forms must
/// be instant.
void print_text(const Specs& specs, const std::vector<Specs::FormInfo>& forms, const ListFlags& options,
                const std::optional<Target>& target) {
  std::vector<std::vector<std::string>> rows;
  for (const Specs::FormInfo& form : forms) {
    if (!options.variants) {
      if (target && !is_on(specs, form.name, *target)) continue;
      rows.push_back({std::string(form.family), std::string(form.name), std::string(form.doc)});
      continue;
    }
    for (const Variant variant : variants_of(specs, form.name, target))
      rows.push_back({std::string(variant.opcode()), since_text(variant, target)});
  }
  fmt::print("{}", format_table(rows));
}

void print_json(const Specs& specs, const std::vector<Specs::FormInfo>& forms, const ListFlags& options,
                const std::optional<Target>& target) {
  auto list = nlohmann::ordered_json::array();
  for (const Specs::FormInfo& form : forms) {
    nlohmann::ordered_json entry = {
        {"form", form.name}, {"family", form.family}, {"text", form.text}, {"doc", form.doc}};
    if (options.variants || target) {
      const std::vector<Variant> variants = variants_of(specs, form.name, target);
      if (variants.empty()) continue;
      if (options.variants) {
        auto opcodes = nlohmann::ordered_json::array();
        for (const Variant variant : variants) opcodes.push_back(variant.opcode());
        entry["variants"] = std::move(opcodes);
      }
      entry["count"] = variants.size();
    }
    list.push_back(std::move(entry));
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"schema", 1}, {"forms", list}}.dump(1));
}

int run_list(const Tool& tool, const ListFlags& options) {
  const auto specs = tool.specs();
  std::optional<Target> target;
  if (!options.target.empty()) target = specs->target(options.target);
  const std::vector<Specs::FormInfo> forms = chosen_forms(*specs, options.family);
  options.json ? print_json(*specs, forms, options, target) : print_text(*specs, forms, options, target);
  return 0;
}

}  // namespace

void add_list(Tool& tool) {
  tool.command<ListFlags>(
      "list", "the instructions of the specs",
      [](CLI::App& command, ListFlags& options) {
        command.add_option("family", options.family, "a family (mma.sync) or a form; all if left out");
        command.add_option("--target", options.target, "only what this target has")->type_name("T");
        command.add_flag("--variants", options.variants, "every legal opcode");
        command.add_flag("--json", options.json, "docs/json/list.json");
      },
      run_list);
}

}  // namespace ptxloom::cli
