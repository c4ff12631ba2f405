// SPDX-License-Identifier: Apache-2.0
#include "oracle/words.hpp"

#include <algorithm>

namespace ptxloom::oracle {

namespace {

/// Some classes hold what no opcode has: "%tid", "shr=5/1".
bool is_modifier(std::string_view word) { return word.find_first_of("%=") == word.npos; }

}  // namespace

Words::Words(const Specs& specs, const spec::FormData& form, std::set<std::string> unread)
    : unread_(std::move(unread)) {
  for (const spec::WordClass& group : specs.database().vocabulary().classes()) {
    if (!std::all_of(group.words.begin(), group.words.end(), is_modifier)) continue;
    classes_.emplace_back(group.name, std::set<std::string>(group.words.begin(), group.words.end()));
    all_.insert(group.words.begin(), group.words.end());
  }
  foreign_ = all_;
  for (const spec::FormData* other : specs.database().family(form.family)) {
    specs.database().with(*other, [&](spec::FormVariants& variants) {
      for (const spec::Unit& unit : variants.form().opcode().units()) {
        for (const spec::Unit::Text& text : unit.texts)
          foreign_.erase(text.text.substr(text.text.starts_with('.') ? 1 : 0));
      }
    });
  }
  foreign_.insert(unread_.begin(), unread_.end());
}

std::set<std::string> Words::class_mates(std::string_view word) const {
  std::set<std::string> mates;
  for (const auto& [name, words] : classes_) {
    if (words.contains(std::string(word))) mates.insert(words.begin(), words.end());
  }
  mates.erase(std::string(word));
  return mates;
}

const std::set<std::string>& Words::of_class(std::string_view name) const {
  return std::ranges::find(classes_, name, [](const auto& group) { return group.first; })->second;
}

}  // namespace ptxloom::oracle
