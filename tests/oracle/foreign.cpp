// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <sstream>

#include "oracle/checks.hpp"

namespace ptxloom::oracle {

ForeignWords ForeignWords::read(const std::filesystem::path& file) {
  ForeignWords result;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    auto& of_form = result.words_[line.substr(0, line.find(':'))];
    for (std::string word; words >> word;) of_form.insert(word);
  }
  return result;
}

void ForeignWords::write(const std::filesystem::path& file) const {
  std::ofstream out(file);
  out << "# Words that ptxas takes on the instructions of a form and does not look at: `check` refuses them. "
         "A word here\n# that the manual gives the instruction is missing from its form. Written by "
         "`test_oracle "
         "--all --bless`.\n";
  for (const auto& [form, words] : words_) {
    out << form << ':';
    for (const std::string& word : words) out << ' ' << word;
    out << '\n';
  }
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
