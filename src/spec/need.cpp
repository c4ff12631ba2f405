// SPDX-License-Identifier: Apache-2.0
#include "spec/need.hpp"

#include <algorithm>

#include "spec/cell.hpp"

namespace ptxloom::spec {
namespace {

bool holds(const Need& need, const Target& target, Version version) {
  return std::any_of(need.begin(), need.end(), [&](const NeedAlternative& any) {
    return any.from <= version && version <= any.until &&
           (any.target == nullptr || target.satisfies(*any.target));
  });
}

/// What `parse` makes of the text of a version, or of several.
template <class Parse>
auto versions_of(Parse parse, std::string_view text, std::string_view need, Place place) {
  try {
    return parse(text);
  } catch (const Error&) {
    fail("spec-need", place, quote(text) + " in the need " + quote(need) + " is not a version",
         "write target:version, a target or a version, and /release for a fact about one assembler; separate "
         "alternatives by |");
  }
}

/// Whether the alternative is for the vocabulary's assembler. Where none is meant, it ends with the last PTX
/// version that its assemblers read: only they can be asked about a text, and later ones read later versions.
bool is_meant(NeedAlternative& any, const Vocabulary& vocabulary) {
  if (vocabulary.assembler()) return any.assemblers.contains(*vocabulary.assembler());
  any.until = std::min(any.until, last_version_of(any.assemblers));
  return true;
}

}  // namespace

Version last_version_of(const target::Releases& releases) {
  const ToolkitInfo* const last = find_toolkit(releases.until);
  return last == nullptr || last == &toolkits().back() ? target::Releases{}.until : last->ptx;
}

Need parse_need(std::string_view text, const Sets& sets, const Vocabulary& vocabulary, Place place) {
  Need need;
  for (std::string_view word : split(text, '|')) {
    NeedAlternative any;
    const std::size_t slash = std::min(word.find('/'), word.size());
    if (slash < word.size())
      any.assemblers = versions_of(target::parse_releases, word.substr(slash + 1), text, place);
    word = word.substr(0, slash);
    if (word.starts_with('@')) {
      for (NeedAlternative each : parse_need(sets.text(word.substr(1)), sets, vocabulary, place)) {
        if (any.assemblers != target::Releases{}) each.assemblers = any.assemblers;
        if (is_meant(each, vocabulary)) need.push_back(each);
      }
      continue;
    }
    std::string_view version = word;
    if (word.starts_with("sm_")) {
      const std::size_t colon = std::min(word.find(':'), word.size());
      any.target = vocabulary.target(word.substr(0, colon));
      if (any.target == nullptr) {
        fail("spec-need", place,
             "unknown target " + quote(word.substr(0, colon)) + " in the need " + quote(text),
             "use a target of specs/targets.json");
      }
      version = colon == word.size() ? std::string_view{} : word.substr(colon + 1);
    }
    if (!version.empty() || (any.target == nullptr && slash != 0)) {
      const std::size_t dash = version.find('-');
      any.from = versions_of(parse_version, version.substr(0, dash), text, place);
      if (dash != version.npos) any.until = versions_of(parse_version, version.substr(dash + 1), text, place);
    }
    if (is_meant(any, vocabulary)) need.push_back(any);
  }
  return need;
}

bool allowed(const Needs& needs, const Target& target, Version version) {
  return version >= target.since() && std::all_of(needs.begin(), needs.end(), [&](const Need* need) {
           return holds(*need, target, version);
         });
}

std::optional<Version> lowest_version(const Needs& needs, const Target& target) {
  // A need becomes satisfied only at its own versions, so these are the only candidates.
  std::optional<Version> lowest;
  const auto consider = [&](Version version) {
    if ((!lowest || version < *lowest) && allowed(needs, target, version)) lowest = version;
  };
  consider(target.since());
  for (const Need* need : needs) {
    for (const NeedAlternative& any : *need) consider(any.from);
  }
  return lowest;
}

}  // namespace ptxloom::spec
