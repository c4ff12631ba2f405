// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/dotted.hpp"
#include "base/nearest.hpp"
#include "cli/command.hpp"
#include "cli/common/requirement_json.hpp"
#include "cli/common/say.hpp"
#include "cli/common/table.hpp"
#include "spec/database.hpp"
#include "spec/join.hpp"

namespace ptxloom::cli {
namespace {

struct ListFlags {
  std::string family;
  std::string target;
  bool variants = false;
  bool json = false;
};

/// The requested forms: all, those of a family (or of all families with this prefix), or one by name.
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

/// An opcode, regardless of its operands.
struct Opcode {
  std::optional<Version> since;  ///< on the target; the lowest
  bool undocumented = true;      ///< with any operands
};

/// By text, in order of first appearance.
class Opcodes {
 public:
  void add(Variant variant, const std::optional<Target>& target) {
    const auto [at, is_new] = index_.try_emplace(variant.opcode(), all_.size());
    if (is_new) all_.push_back({variant.opcode(), {}});
    Opcode& opcode = all_[at->second].second;
    opcode.undocumented = opcode.undocumented && variant.undocumented();
    if (!target) return;
    const std::optional<Version> since = variant.since(*target);
    if (!opcode.since || *since < *opcode.since) opcode.since = since;
  }
  const std::vector<std::pair<std::string_view, Opcode>>& all() const { return all_; }

 private:
  std::unordered_map<std::string_view, std::size_t> index_;
  std::vector<std::pair<std::string_view, Opcode>> all_;
};

/// Which rows of a form exist, on the target if one is given.
struct Presence {
  bool documented = false, undocumented = false;
};

Presence presence_of(const Specs& specs, std::string_view form, const std::optional<Target>& target) {
  const spec::Database& database = specs.database();
  const spec::Form& compiled = database.form(*database.find_form(form));
  const Target* const on = target ? &*target : nullptr;
  return {.documented = spec::exists(compiled, {.target = on, .documented = true}),
          .undocumented = spec::exists(compiled, {.target = on, .documented = false})};
}

/// "PTX 8.0", "CUDA 12.0, driver 525": since when it is there, and what that takes; empty without a target.
std::vector<std::string> requirement_cells(const std::optional<Version>& since,
                                           const std::optional<Target>& target) {
  if (!since || !target) return {"", ""};
  return {"PTX " + to_string(*since), to_string(requirement_of(*target, *since))};
}

std::optional<Version> earliest(const Specs& specs, std::string_view form,
                                const std::optional<Target>& target) {
  if (!target) return std::nullopt;
  return spec::earliest(specs.database().form(*specs.database().find_form(form)), *target);
}

void print_opcodes(const Specs& specs, const std::vector<Specs::FormInfo>& forms,
                   const std::optional<Target>& target) {
  Opcodes opcodes;
  for (const Specs::FormInfo& form : forms)
    for (const Variant& variant : variants_of(specs, form.name, target)) opcodes.add(variant, target);
  std::vector<std::vector<std::string>> rows;
  for (const auto& [text, opcode] : opcodes.all()) {
    std::vector<std::string>& row = rows.emplace_back();
    row.emplace_back(text);
    std::ranges::move(requirement_cells(opcode.since, target), std::back_inserter(row));
    row.emplace_back(opcode.undocumented ? "undocumented" : "");
  }
  fmt::print("{}", format_table(rows));
}

/// Variants are made only on request, because there are hundreds of thousands: listing the forms must be
/// instant.
void print_text(const Specs& specs, const std::vector<Specs::FormInfo>& forms, const ListFlags& options,
                const std::optional<Target>& target) {
  if (options.variants) return print_opcodes(specs, forms, target);
  std::vector<std::vector<std::string>> rows;
  for (const Specs::FormInfo& form : forms) {
    const Presence presence = presence_of(specs, form.name, target);
    if (!presence.documented && !presence.undocumented) continue;
    const char* const mark = !presence.documented    ? "undocumented: "
                             : presence.undocumented ? "partly undocumented: "
                                                     : "";
    std::vector<std::string>& row = rows.emplace_back();
    row = {std::string(form.family), std::string(form.name)};
    if (target)
      std::ranges::move(requirement_cells(earliest(specs, form.name, target), target),
                        std::back_inserter(row));
    row.push_back(mark + std::string(form.doc));
  }
  fmt::print("{}", format_table(rows));
}

void print_json(const Specs& specs, const std::vector<Specs::FormInfo>& forms, const ListFlags& options,
                const std::optional<Target>& target) {
  auto list = nlohmann::ordered_json::array();
  for (const Specs::FormInfo& form : forms) {
    const Presence presence = presence_of(specs, form.name, target);
    if (!presence.documented && !presence.undocumented) continue;
    nlohmann::ordered_json entry = {{"form", form.name},
                                    {"family", form.family},
                                    {"text", form.text},
                                    {"doc", form.doc},
                                    {"undocumented", !presence.documented},
                                    {"undocumented_in_part", presence.documented && presence.undocumented}};
    if (options.variants || target) {
      Opcodes opcodes;
      for (const Variant& variant : variants_of(specs, form.name, target)) opcodes.add(variant, target);
      if (options.variants) {
        auto texts = nlohmann::ordered_json::array(), undocumented = texts;
        for (const auto& [text, opcode] : opcodes.all()) {
          texts.push_back(text);
          if (opcode.undocumented) undocumented.push_back(text);
        }
        entry["variants"] = std::move(texts);
        entry["undocumented_variants"] = std::move(undocumented);
      }
      entry["count"] = opcodes.all().size();
    }
    if (const auto since = earliest(specs, form.name, target))
      entry.update(requirement_json(*target, *since));
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
  const auto absent = [&](const Specs::FormInfo& form) {
    const Presence presence = presence_of(*specs, form.name, target);
    return !presence.documented && !presence.undocumented;
  };
  if (target && std::ranges::all_of(forms, absent))
    say("nothing of {0} is on {1}; `ptxloom show` of an instruction of `ptxloom list {0}` names its "
        "targets\n",
        options.family, target->name());
  return 0;
}

}  // namespace

void add_list(Tool& tool) {
  tool.command<ListFlags>(
      "list", "list instructions",
      [](CLI::App& command, ListFlags& options) {
        command.add_option("family", options.family, "a family (mma.sync) or a form; default: all");
        command.add_option("--target", options.target, "only those of this target")->type_name("T");
        command.add_flag("--variants", options.variants, "list every legal opcode");
        command.add_flag("--json", options.json, "print JSON (docs/json/list.json)");
      },
      run_list);
}

}  // namespace ptxloom::cli
