// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <tuple>

#include "base/nearest.hpp"
#include "spec/database.hpp"
#include "spec/select.hpp"

// Why an opcode is none, or none here. What it may have been meant to be is found by changing one word of it,
// or two: all variants of a mnemonic can be a hundred thousand.
namespace ptxloom {
namespace {

constexpr std::size_t kNearest = 5;  // opcodes that a hint names

using Words = std::vector<std::string>;

std::string joined(const Words& words) {
  std::string opcode;
  for (const std::string& word : words) {
    if (!word.empty()) opcode += (opcode.empty() || word.starts_with('.') ? "" : ".") + word;
  }
  return opcode;
}

/// What opcodes of the mnemonic are written with after it: ".f32", ".m16n8k16", ".v4".
std::set<std::string> words_after(const spec::Database& database, std::string_view mnemonic) {
  std::set<std::string> words;
  for (const spec::FormData* form : database.with_mnemonic(mnemonic)) {
    database.with(*form, [&](spec::FormVariants& variants) {
      const auto& units = variants.form().opcode().units();
      for (std::size_t i = 1; i < units.size(); ++i) {
        for (const spec::Unit::Text& text : units[i].texts) words.insert(text.text);
      }
    });
  }
  return words;
}

/// Visits the opcodes that differ in one word: one left out, one put in place of another, one added.
template <class Visit>
void each_edit(const Words& words, const std::set<std::string>& known, const Visit& visit) {
  for (std::size_t at = 1; at <= words.size(); ++at) {
    if (at < words.size()) {
      Words edited = words;
      edited[at].clear();
      visit(edited);
      for (const std::string& word : known) {
        edited[at] = word;
        visit(edited);
      }
    }
    Words longer = words;
    longer.insert(longer.begin() + static_cast<std::ptrdiff_t>(at), std::string());
    for (const std::string& word : known) {
      longer[at] = word;
      visit(longer);
    }
  }
}

struct Candidate {
  bool elsewhere = false;  // not on the target
  std::size_t edits = 0;   // characters
  Variant variant;
  auto key() const { return std::tuple(elsewhere, edits); }
};

/// The documented opcodes that differ in one word, or else in two, the nearest first, each once.
std::vector<Candidate> nearest_opcodes(const spec::Database& database, std::string_view opcode,
                                       const Target& target) {
  const std::set<std::string> known = words_after(database, spec::mnemonic_of(opcode));
  Words words;
  for (std::string_view word : spec::split(opcode, '.')) words.emplace_back(word);
  std::vector<Candidate> candidates;
  std::set<const spec::VariantData*> seen;
  const auto keep = [&](const Words& edited) {
    const std::string text = joined(edited);
    for (Variant variant : database.match(text)) {
      if (variant.undocumented() || !seen.insert(variant.data()).second) continue;
      candidates.push_back({!variant.since(target), edit_distance(opcode, text), variant});
      break;  // the others have the same opcode
    }
  };
  each_edit(words, known, keep);
  const auto here = [](const Candidate& candidate) { return !candidate.elsewhere; };
  for (std::size_t at = 1; at < words.size() && std::none_of(candidates.begin(), candidates.end(), here);
       ++at) {
    Words shorter = words;
    shorter[at].clear();
    each_edit(shorter, known, keep);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.key() < b.key(); });
  candidates.resize(std::min(candidates.size(), kNearest));
  return candidates;
}

std::string nearest_mnemonic(const spec::Database& database, std::string_view opcode) {
  std::vector<std::string> mnemonics;
  for (const spec::FormData* form : database.forms())
    for (const std::string_view mnemonic : form->mnemonics) mnemonics.emplace_back(mnemonic);
  return nearest(spec::mnemonic_of(opcode), mnemonics);
}

std::string list_of(const std::vector<Candidate>& candidates, const Target& target) {
  std::string list;
  for (const Candidate& candidate : candidates) {
    list += (list.empty() ? "" : ", ") + std::string(candidate.variant.opcode());
    if (candidate.elsewhere)
      list +=
          " (not on " + std::string(target.name()) + ": needs " + spec::where_legal(candidate.variant) + ")";
  }
  return list;
}

}  // namespace

Diagnostic Specs::explain(std::string_view opcode, const Target& target) const {
  const std::span<const Variant> readings = match(opcode);
  const auto documented =
      std::find_if(readings.begin(), readings.end(), [](Variant variant) { return !variant.undocumented(); });
  if (documented != readings.end())
    return {.code = "not-on-target",
            .message = std::string(opcode) + " is not on " + std::string(target.name()),
            .hint = "it needs " + spec::where_legal(*documented)};
  const std::string mnemonic(spec::mnemonic_of(opcode));
  const auto near = [&](const char* what) {
    const auto candidates = nearest_opcodes(*database_, opcode, target);
    return candidates.empty() ? "`ptxloom list " + mnemonic + " --variants` shows what there is"
                              : what + list_of(candidates, target);
  };
  if (!readings.empty())
    return {.code = "undocumented",
            .message = "the manual does not promise " + std::string(opcode) + ", though ptxas takes it",
            .hint = near("documented and near: ")};
  if (database_->with_mnemonic(mnemonic).empty())
    return {
        .code = "unknown-instruction",
        .message = "there is no instruction '" + mnemonic + "'",
        .hint = "did you mean " + nearest_mnemonic(*database_, opcode) + "? `ptxloom list` shows them all"};
  return {.code = "no-variant", .message = "there is no " + std::string(opcode), .hint = near("nearest: ")};
}

}  // namespace ptxloom
