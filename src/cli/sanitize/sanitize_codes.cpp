// SPDX-License-Identifier: Apache-2.0
#include "cli/sanitize/sanitize_codes.hpp"

#include <algorithm>
#include <string_view>

#include "generated/findings.md.hpp"

namespace ptxloom::cli {
namespace {

constexpr std::string_view kHeading = "\n### `", kWarning = "A warning. ", kManual = " PTX ISA ";

std::string_view without_empty_lines(std::string_view text) {
  const std::size_t first = text.find_first_not_of('\n');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of('\n') + 1 - first);
}

// An entry is "CODE`", an empty line, the rule with its section at the end, then what explains it.
SanitizeCode parse_entry(std::string_view entry) {
  const std::size_t quote = entry.find('`');
  SanitizeCode code{.code = std::string(entry.substr(0, quote)),
                    .rule = {},
                    .section = {},
                    .text = std::string(without_empty_lines(entry.substr(quote + 1)))};
  code.rule = code.text.substr(0, code.text.find("\n\n"));
  std::ranges::replace(code.rule, '\n', ' ');
  if (code.rule.starts_with(kWarning)) {
    code.warning = true;
    code.rule.erase(0, kWarning.size());
  }
  if (const std::size_t manual = code.rule.rfind(kManual); manual != std::string::npos) {
    code.section = code.rule.substr(manual + 1, code.rule.size() - manual - 2);
    code.rule.erase(manual);
  }
  return code;
}

}  // namespace

std::vector<SanitizeCode> sanitize_codes() {
  std::vector<SanitizeCode> codes;
  const std::string_view page = kFindingsPage;
  for (std::size_t at = page.find(kHeading); at != std::string_view::npos;) {
    const std::size_t begin = at + kHeading.size(), next = page.find(kHeading, begin);
    const std::size_t end = std::min(next, page.find("\n## ", begin));
    codes.push_back(parse_entry(page.substr(begin, end - begin)));
    at = next;
  }
  return codes;
}

}  // namespace ptxloom::cli
