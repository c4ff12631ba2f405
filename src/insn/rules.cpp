// SPDX-License-Identifier: Apache-2.0
#include "insn/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/dotted.hpp"
#include "generated/measure.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::insn {
namespace {

using nlohmann::json;

std::set<std::string, std::less<>> words(std::string_view text, char separator) {
  std::set<std::string, std::less<>> all;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(separator));
    if (!word.empty()) all.emplace(word);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return all;
}

/// Statements: a text, or a list of lines.
std::string statements(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::string text;
  for (const json& line : value) text += (text.empty() ? "" : "\n") + line.get<std::string>();
  return text;
}

Slots slots_of(const json& value) {
  Slots slots;
  for (const auto& [slot, values] : value.items()) slots[slot] = words(values.get<std::string>(), '|');
  return slots;
}

void set_field(FormRule& rule, const std::string& name, const json& value) {
  if (name == "skip") {
    rule.skip = value.get<std::string>();
  } else if (name == "only") {
    rule.only = slots_of(value);
  } else if (name == "masked") {
    rule.masked = slots_of(value);
  } else if (name == "same") {
    rule.same = words(value.get<std::string>(), ' ');
  } else if (name == "operands") {
    rule.operands = value.get<std::map<std::string, std::string, std::less<>>>();
  } else if (name == "before") {
    rule.before = statements(value);
  } else if (name == "round") {
    rule.round = statements(value);
  } else if (name == "then") {
    rule.then = statements(value);
  } else if (name == "end") {
    rule.end = statements(value);
  } else if (name == "chain") {
    rule.chain = words(value.get<std::string>(), ' ');
  } else if (name == "slot") {
    rule.slot = value.get<int>();
  } else if (name == "warps") {
    rule.warps = value.get<int>();
  } else if (name == "most_warps") {
    rule.most_warps = value.get<int>();
  } else if (name == "random") {
    rule.random = value.get<bool>();
  } else {
    throw Error(ErrorKind::usage, "spec-measure",
                fmt::format("specs/measure/forms.json: what is '{}'?", name),
                "specs/README.md lists the fields");
  }
}

}  // namespace

bool has_all(const Variant& variant, const Slots& slots) {
  return std::ranges::all_of(
      slots, [&](const auto& slot) { return slot.second.contains(variant.slot(slot.first).value_or("-")); });
}

Rules::Rules(std::string_view text) {
  try {
    const json file = json::parse(text);
    same_ = words(file.at("same").get<std::string>(), ' ');
    for (const json& entry : file.at("forms")) {
      FormRule rule{.ready = true};
      for (const auto& [name, value] : entry.items()) {
        if (name != "forms") set_field(rule, name, value);
      }
      for (const std::string& form : words(entry.at("forms").get<std::string>(), ' ')) forms_[form] = rule;
    }
  } catch (const json::exception& error) {
    throw Error(ErrorKind::usage, "spec-measure", std::string("specs/measure/forms.json: ") + error.what(),
                "specs/README.md describes the file");
  }
}

const Rules& Rules::compiled() {
  static const Rules rules(kMeasure);
  return rules;
}

const FormRule& Rules::of(std::string_view form) const {
  const auto found = forms_.find(form);
  return found == forms_.end() ? none_ : found->second;
}

std::string Rules::essence(std::string_view opcode, const FormRule& rule) const {
  std::string text;
  for (std::string_view rest = opcode; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const bool first = text.empty();
    if (!first && (same_.contains(word) || rule.same.contains(word))) continue;
    text += (first ? "" : ".") + std::string(word);
  }
  return text;
}

}  // namespace ptxloom::insn
