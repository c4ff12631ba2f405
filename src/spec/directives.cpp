// SPDX-License-Identifier: Apache-2.0
#include "spec/directives.hpp"

#include "spec/cell.hpp"

namespace ptxloom::spec {
namespace {

const Need* found_in(const std::unordered_map<std::string_view, Need>& needs, std::string_view name) {
  const auto found = needs.find(name);
  return found == needs.end() || found->second.empty() ? nullptr : &found->second;
}

}  // namespace

void Directives::add(const DirectivesData& data, const Vocabulary& vocabulary) {
  Arena arena;
  const Place place{.file = "directives.json", .form = {}};
  const Sets none({}, {}, arena, place);
  const auto need = [&](std::string_view text) {
    return text.empty() ? Need{} : parse_need(text, none, vocabulary, place);
  };
  for (const Entry& entry : data.directives) directives_[entry.key] = need(entry.value);
  for (const Entry& entry : data.features) directives_[entry.key] = need(entry.value);
  for (const Entry& entry : data.pragmas) {
    const std::string_view name = entry.key.substr(0, entry.key.find(' '));  // of "frequency <positive>"
    pragmas_[name] = need(entry.value);
    if (name.size() < entry.key.size())
      numbers_[name] = entry.key.ends_with("<positive>") ? PragmaNumber::positive : PragmaNumber::integer;
  }
  if (!data.languages.empty()) languages_ = data.languages;
}

const Need* Directives::need(std::string_view directive) const { return found_in(directives_, directive); }

const Need* Directives::need_of_pragma(std::string_view pragma) const { return found_in(pragmas_, pragma); }

PragmaNumber Directives::number_of_pragma(std::string_view pragma) const {
  const auto found = numbers_.find(pragma);
  return found == numbers_.end() ? PragmaNumber::none : found->second;
}

}  // namespace ptxloom::spec
