// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ptxloom/ptx.hpp"

namespace ptxloom::testing {

inline const std::shared_ptr<const Specs>& compiled_specs() {
  static const auto shared = std::make_shared<const Specs>();
  return shared;
}

/// A module of these directives; its first line is line 4.
inline std::string module_of(const std::string& directives) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n" + directives;
}

/// Everything that is wrong, as people read it.
inline std::string words(const ParseResult& result) {
  std::string text;
  for (const Diagnostic& diagnostic : result.diagnostics) text += to_string(diagnostic) + "\n";
  return text;
}

/// "line:column code" of everything that is wrong.
inline std::vector<std::string> places(const std::string& ptx) {
  std::vector<std::string> found;
  for (const Diagnostic& d : parse(ptx, compiled_specs()).diagnostics)
    found.push_back(std::to_string(d.line) + ":" + std::to_string(d.column) + " " + d.code);
  return found;
}

}  // namespace ptxloom::testing
