// SPDX-License-Identifier: Apache-2.0
#include "cli/common/diagnostics_json.hpp"

#include <nlohmann/json.hpp>

namespace ptxloom::cli {

nlohmann::ordered_json diagnostics_json(std::span<const Diagnostic> diagnostics, Severity severity) {
  auto list = nlohmann::ordered_json::array();
  for (const Diagnostic& one : diagnostics) {
    if (one.severity != severity) continue;
    list.push_back({{"line", one.line},
                    {"column", one.column},
                    {"code", one.code},
                    {"message", one.message},
                    {"hint", one.hint}});
  }
  return list;
}

}  // namespace ptxloom::cli
