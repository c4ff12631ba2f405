// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <map>

#include "oracle/checks.hpp"

namespace ptxloom::oracle {

Outcome check_counts(const Specs& specs, const std::filesystem::path& golden, bool bless) {
  std::map<std::string, std::size_t> counts;
  for (std::string_view form : specs.forms()) counts[std::string(form)] = specs.variants(form).size();
  if (bless) {
    std::ofstream out(golden);
    out << "# Variants of each form. A change here is a change of what the specs accept: see that it is meant, then\n"
           "# write this file anew with `test_oracle --bless`.\n";
    for (const auto& [form, count] : counts) out << form << ' ' << count << '\n';
    return {};
  }
  Outcome outcome;
  std::map<std::string, std::size_t> expected;
  std::ifstream in(golden);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with('#')) expected[line.substr(0, line.find(' '))] = std::stoul(line.substr(line.find(' ') + 1));
  }
  for (const auto& [form, count] : expected) {
    if (!counts.contains(form)) outcome.disagreements.push_back("the form " + form + " is gone");
  }
  for (const auto& [form, count] : counts) {
    ++outcome.cases;
    if (expected[form] == count) continue;
    outcome.disagreements.push_back(form + " has " + std::to_string(count) + " variants, the golden file says " +
                                    std::to_string(expected[form]));
  }
  return outcome;
}

}  // namespace ptxloom::oracle
