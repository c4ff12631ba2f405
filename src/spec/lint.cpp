// SPDX-License-Identifier: Apache-2.0
#include "spec/lint.hpp"

#include <algorithm>

#include "spec/database.hpp"
#include "spec/fragment_lint.hpp"

namespace ptxloom::spec {
namespace {

/// Each set must be used in a cell, a mod, a need or another set.
void check_sets_used(const Form& form) {
  const FormData& data = form.data();
  for (const Entry& set : data.sets) {
    const std::string name = "@" + std::string(set.key);
    const auto mentions = [&](std::string_view text) {
      for (std::string_view line : split(text, ' ')) {
        for (std::string_view word : split(line, '|')) {
          word = word.substr(0, word.find('/'));  // without the releases of a need
          if (word == name || (word.starts_with('!') && word.substr(1) == name)) return true;
        }
      }
      return false;
    };
    bool used = mentions(data.need);
    for (const auto entries : {data.mods, data.sets, data.needs}) {
      for (const Entry& entry : entries) used = used || mentions(entry.value);
    }
    for (const auto tables : {data.tables, data.lax}) {
      for (const TableData& table : tables) {
        for (std::string_view line : table.lines) used = used || mentions(line);
      }
    }
    if (!used) fail("spec-unused", form.place(), "nothing uses the set @" + std::string(set.key));
  }
}

}  // namespace

std::vector<std::string_view> mnemonics(const Form& form) {
  std::vector<std::string_view> result;
  for (const Unit::Text& text : form.opcode().units().front().texts) {
    const std::string_view mnemonic = mnemonic_of(text.text);
    if (std::find(result.begin(), result.end(), mnemonic) == result.end()) result.push_back(mnemonic);
  }
  return result;
}

std::string words(const Form& form) {
  std::string all = ".";
  for (const Unit& unit : form.opcode().units()) {
    for (const Unit::Text& text : unit.texts) {
      for (std::string_view word : split(text.text, '.')) {
        if (!word.empty() && !has_word(all, word)) all.append(word).append(".");
      }
    }
  }
  return all;
}

void lint(FormVariants& variants) {
  const Form& form = variants.form();
  const auto& all = variants.all();
  if (all.empty())
    fail("spec-empty", form.place(), "no row of one table fits the others: the form has no variant");
  for (const Variant& variant : all) variant.operands();  // parsed now, so that errors are found here
  check_sets_used(form);
  lint_fragments(variants);
}

}  // namespace ptxloom::spec
