// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "support/folders.hpp"

// PTXLOOM_REQUIRE is a comma-separated list of components that tests must find: a test that would be skipped
// without one of them fails instead. The components are listed in tests/support/components.txt, which
// components.py and ./dev read too.
namespace ptxloom::test {

/// Whether the list names the component. Throws std::invalid_argument for a name that is not a component, in
/// the list or as an argument.
inline bool names_component(const std::string& list, std::string_view component) {
  std::ifstream file(source_folder() + "/tests/support/components.txt");
  std::set<std::string, std::less<>> known;
  std::string all;
  for (std::string name; std::getline(file, name); all += " " + name) known.insert(name);
  const auto check = [&](std::string_view name) {
    if (!known.contains(name))
      throw std::invalid_argument("PTXLOOM_REQUIRE: there is no component '" + std::string(name) +
                                  "'; there are" + all);
  };
  check(component);
  bool found = false;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    check(word);
    found = found || word == component;
  }
  return found;
}

inline bool requires_component(std::string_view component) {
  const char* const list = std::getenv("PTXLOOM_REQUIRE");
  return names_component(list == nullptr ? "" : list, component);
}

}  // namespace ptxloom::test
