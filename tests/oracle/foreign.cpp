// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "oracle/checks.hpp"
#include "target/releases.hpp"

namespace ptxloom::oracle {
namespace {

/// A line of the file.
struct ListedWords {
  std::string form;
  target::Releases releases;
  std::vector<std::string> words;
};

struct Listing {
  std::set<Version> blessed;  // assemblers that wrote it
  std::vector<ListedWords> entries;
};

constexpr std::string_view kBlessed = "# Assemblers: ";

Listing read_listing(const std::filesystem::path& file) {
  Listing listing;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::string word;
    if (line.starts_with(kBlessed)) {
      std::istringstream releases(line.substr(kBlessed.size()));
      while (releases >> word) listing.blessed.insert(parse_version(word));
    }
    if (line.empty() || line.starts_with('#')) continue;
    std::istringstream head(line.substr(0, line.find(':'))), words(line.substr(line.find(':') + 1));
    ListedWords& entry = listing.entries.emplace_back();
    head >> entry.form;
    if (head >> word) entry.releases = target::parse_releases(word);
    while (words >> word) entry.words.push_back(word);
  }
  return listing;
}

/// By what stands behind the form: "" for all, " 13.0-13.2", " 13.5".
using WordsBySpan = std::map<std::string, std::set<std::string>>;

/// For each run of neighbours in `all` that the word is taken by: " 13.0-13.2", or " 13.2" up to the last
/// one.
std::vector<std::string> spans_of(const std::set<Version>& takers, const std::set<Version>& all) {
  if (takers == all) return {""};
  std::vector<std::string> spans;
  for (auto at = all.begin(); at != all.end();) {
    if (!takers.contains(*at)) {
      ++at;
      continue;
    }
    const Version first = *at;
    Version last = first;
    for (; at != all.end() && takers.contains(*at); ++at) last = *at;
    spans.push_back(" " + to_string(first) + (at == all.end() ? "" : "-" + to_string(last)));
  }
  return spans;
}

void write_listing(const std::filesystem::path& file, const std::set<Version>& blessed,
                   const std::map<std::string, WordsBySpan>& forms) {
  std::ofstream out(file);
  out << "# Words that ptxas takes on the instructions of a form and does not look at: `check` refuses them. "
         "A word here\n# that the manual gives the instruction is missing from its form. Written by "
         "`test_oracle --all --bless`.\n# FORM: WORD... of all assemblers, FORM 13.2: WORD... of that of "
         "CUDA "
         "13.2 and later ones, FORM 13.0-13.1: WORD... of these.\n"
      << kBlessed.substr(0, kBlessed.size() - 1);
  for (const Version release : blessed) out << ' ' << to_string(release);
  out << '\n';
  for (const auto& [form, spans] : forms) {
    for (const auto& [span, words] : spans) {
      out << form << span << ':';
      for (const std::string& word : words) out << ' ' << word;
      out << '\n';
    }
  }
}

/// The assembler, and if it did not write the list, the next ones before and after it that did: between them
/// it may take what either takes.
std::set<Version> stand_ins(Version assembler, const std::set<Version>& blessed) {
  std::set<Version> result{assembler};
  if (blessed.contains(assembler)) return result;
  const auto after = blessed.upper_bound(assembler);
  if (after != blessed.end()) result.insert(*after);
  if (after != blessed.begin()) result.insert(*std::prev(after));
  return result;
}

}  // namespace

ForeignWords ForeignWords::read(const std::filesystem::path& file, std::optional<Version> assembler) {
  ForeignWords result;
  const Listing listing = read_listing(file);
  const std::set<Version> asked = assembler ? stand_ins(*assembler, listing.blessed) : std::set<Version>();
  for (const ListedWords& entry : listing.entries) {
    auto& of_form = result.words_[entry.form];
    const auto has = [&](Version release) { return entry.releases.contains(release); };
    if (!assembler || std::ranges::any_of(asked, has)) of_form.insert(entry.words.begin(), entry.words.end());
  }
  return result;
}

void ForeignWords::bless(const std::filesystem::path& file, Version assembler) const {
  const Listing known = read_listing(file);
  std::set<Version> blessed = known.blessed;
  blessed.insert(assembler);
  std::map<std::string, std::map<std::string, std::set<Version>>> takers;  // by form and word
  for (const ListedWords& entry : known.entries) {
    if (!words_.contains(entry.form)) continue;  // a form that is gone
    for (const std::string& word : entry.words) {
      for (const Version release : blessed)
        if (release != assembler && entry.releases.contains(release))
          takers[entry.form][word].insert(release);
    }
  }
  std::map<std::string, WordsBySpan> forms;
  for (const auto& [form, words] : words_) {
    for (const std::string& word : words) takers[form][word].insert(assembler);
    forms[form][""];  // a form without foreign words is listed, too
    for (const auto& [word, by] : takers[form]) {
      for (const std::string& span : spans_of(by, blessed)) forms[form][span].insert(word);
    }
  }
  write_listing(file, blessed, forms);
}

bool ForeignWords::contains(std::string_view form, std::string_view word) const {
  const auto found = words_.find(form);
  return found == words_.end() || found->second.contains(std::string(word));
}

std::set<std::string> ForeignWords::of(std::string_view form) const {
  const auto found = words_.find(form);
  return found == words_.end() ? std::set<std::string>{} : found->second;
}

void ForeignWords::set(std::string_view form, std::set<std::string> words) {
  words_[std::string(form)] = std::move(words);
}

}  // namespace ptxloom::oracle
