// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "sass/lint/hazards.hpp"
#include "sass/lint/lint.hpp"

namespace ptxloom::test {

/// The opposite of sass::to_string(ControlCode): "[R---:B0-----:R-:W1:Y:S04]".
inline sass::ControlCode control_of(std::string_view text) {
  const auto number = [](char c) {
    return c == '-' ? std::optional<unsigned>() : static_cast<unsigned>(c - '0');
  };
  sass::ControlCode code;
  for (unsigned i = 0; i < 4; ++i) code.reuse |= text[1 + i] == 'R' ? 1U << i : 0U;
  for (unsigned i = 0; i < sass::kScoreboards; ++i) code.wait |= text[7 + i] != '-' ? 1U << i : 0U;
  code.read = number(text[15]);
  code.write = number(text[18]);
  code.yield = text[20] == 'Y';
  code.stall = static_cast<unsigned>(std::stoi(std::string(text.substr(23, 2))));
  return code;
}

/// A function of one line an instruction, "[----:B------:R-:W-:-:S04] IADD3 R1, R2, R3, RZ", each with a
/// label before it or not, ".L_1:", as listings print them. Offsets count from 0.
inline sass::Listing code_listing(const std::string& code) {
  sass::Listing listing{.file = "code", .target = "", .nvdisasm = "0", .functions = {}, .ptx = {}};
  sass::ListedFunction& function = listing.functions.emplace_back();
  function.facts.name = "code";
  function.facts.kernel = true;
  std::istringstream lines(code);
  std::string label;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == line.npos) continue;
    line.erase(0, begin);
    if (line.ends_with(':')) {
      label = line.substr(0, line.size() - 1);
      continue;
    }
    sass::ListedInstruction& one = function.instructions.emplace_back();
    one.offset = sass::kInstructionBytes * (function.instructions.size() - 1);
    one.control = control_of(line);
    one.text = line.substr(27);
    one.label = label;
    label.clear();
  }
  return listing;
}

/// "30 missing-wait R4" for each finding of this severity, in order.
inline std::vector<std::string> lint_code(const std::string& code, int chip,
                                          sass::LintSeverity severity = sass::LintSeverity::error) {
  std::vector<std::string> found;
  const sass::Lint lint = sass::lint(code_listing(code), chip, true);
  for (const sass::LintFinding& one : lint.functions.front().findings)
    if (one.severity == severity) found.push_back(fmt::format("{:02x} {} {}", one.offset, one.code, one.reg));
  return found;
}

}  // namespace ptxloom::test
