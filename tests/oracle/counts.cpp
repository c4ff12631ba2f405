// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <map>

#include "oracle/checks.hpp"

namespace ptxloom::oracle {
namespace {

/// "mma 82 16": the form, its documented variants and the others.
std::string count_of(const Specs& specs, std::string_view form) {
  const auto variants = specs.variants(form);
  const auto lax =
      std::count_if(variants.begin(), variants.end(), [](Variant v) { return v.undocumented(); });
  return std::string(form) + ' ' + std::to_string(variants.size() - static_cast<std::size_t>(lax)) + ' ' +
         std::to_string(lax);
}

}  // namespace

Outcome check_counts(const Specs& specs, const std::filesystem::path& golden, bool bless) {
  std::map<std::string, std::string> counts, expected;
  for (std::string_view form : specs.forms()) counts[std::string(form)] = count_of(specs, form);
  if (bless) {
    std::ofstream out(golden);
    out << "# Variants of each form: documented, and undocumented but taken by ptxas. A change here is a "
           "change of what\n"
           "# the specs accept: see that it is meant, then write this file anew with `test_oracle "
           "--bless`.\n";
    for (const auto& [form, line] : counts) out << line << '\n';
    return {};
  }
  std::ifstream in(golden);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with('#')) expected[line.substr(0, line.find(' '))] = line;
  }
  Outcome outcome;
  for (const auto& [form, line] : expected) {
    if (!counts.contains(form)) outcome.disagreements.push_back("the form " + form + " is gone");
  }
  for (const auto& [form, line] : counts) {
    ++outcome.cases;
    if (expected[form] != line)
      outcome.disagreements.push_back("'" + line + "', the golden file says '" + expected[form] + "'");
  }
  return outcome;
}

}  // namespace ptxloom::oracle
