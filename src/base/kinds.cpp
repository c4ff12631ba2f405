// SPDX-License-Identifier: Apache-2.0
#include "base/kinds.hpp"

#include <algorithm>
#include <cstddef>

namespace ptxloom {
namespace {

struct Kind {
  const Diagnostic* first;
  std::size_t count;
};

std::vector<Kind> kinds_of(std::span<const Diagnostic> diagnostics) {
  std::vector<Kind> kinds;
  for (const Diagnostic& diagnostic : diagnostics) {
    const auto same = std::ranges::find_if(kinds, [&](const Kind& kind) {
      return kind.first->code == diagnostic.code && kind.first->severity == diagnostic.severity;
    });
    same == kinds.end() ? kinds.push_back({&diagnostic, 1}) : void(++same->count);
  }
  return kinds;
}

}  // namespace

std::vector<std::string> one_line_a_kind(std::span<const Diagnostic> diagnostics, std::string_view file) {
  std::vector<std::string> lines;
  for (const auto& [first, count] : kinds_of(diagnostics)) {
    Diagnostic bare = *first;
    bare.hint.clear();
    std::ranges::replace(bare.message, '\n', ' ');
    std::string& line = lines.emplace_back(file);
    if (!file.empty()) line += first->line > 0 ? ":" : ": ";
    line += to_string(bare);
    if (count > 1) line += " (first of " + std::to_string(count) + ')';
  }
  return lines;
}

}  // namespace ptxloom
