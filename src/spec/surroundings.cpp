// SPDX-License-Identifier: Apache-2.0
#include "spec/surroundings.hpp"

#include <algorithm>
#include <optional>

namespace ptxloom::spec {
namespace {

constexpr int kDeepest = 8;  // nesting of texts that refer to each other

std::optional<std::string> named(const Form& form, Values values, std::string_view name) {
  for (const auto& [key, text] : form.conform()) {
    if (key == name) return text.render(values);
  }
  const Surrounding* const shared = form.vocabulary().surrounding(name);
  return shared == nullptr ? std::nullopt : std::optional(std::string(shared->text));
}

// A line "&" is what remains of a slot without a value.
std::string expanded(const Form& form, Values values, std::string_view text, int depth) {
  std::string result;
  while (true) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!line.starts_with('&')) {
      result += line;
    } else if (const std::string_view name = line.substr(1); !name.empty()) {
      const auto found = named(form, values, name);
      if (!found || depth == kDeepest) {
        fail("spec-around", form.place(), "conform has no text " + quote(name) + ", or it names itself",
             "add it to the form's conform, or to around.json");
      }
      result += expanded(form, values, *found, depth + 1);
    }
    if (line.size() == text.size()) return result;
    text.remove_prefix(line.size() + 1);
    if (!result.empty() && !result.ends_with('\n')) result += '\n';
  }
}

}  // namespace

std::string conform_text(const Form& form, Values values, std::string_view name) {
  for (const auto& [key, text] : form.conform()) {
    if (key == name) return expanded(form, values, text.render(values), 0);
  }
  return {};
}

}  // namespace ptxloom::spec
