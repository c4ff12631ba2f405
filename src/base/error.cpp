// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/error.hpp"

#include <utility>

namespace ptxloom {
namespace {

std::string join(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    text += to_string(diagnostic);
  }
  return text;
}

}  // namespace

Error::Error(ErrorKind kind, std::vector<Diagnostic> diagnostics)
    : kind_(kind), diagnostics_(std::move(diagnostics)), what_(join(diagnostics_)) {}

Error::Error(ErrorKind kind, std::string code, std::string message, std::string hint)
    : Error(kind,
            {Diagnostic{.code = std::move(code), .message = std::move(message), .hint = std::move(hint)}}) {}

std::string to_string(const Diagnostic& diagnostic) {
  std::string text;
  if (diagnostic.line > 0) {
    text += std::to_string(diagnostic.line) + ':';
    if (diagnostic.column > 0) text += std::to_string(diagnostic.column) + ':';
    text += ' ';
  }
  text += diagnostic.severity == Severity::error ? "error: " : "warning: ";
  text += diagnostic.message;
  if (!diagnostic.code.empty()) text += " [" + diagnostic.code + ']';
  if (!diagnostic.hint.empty()) text += "\n  " + diagnostic.hint;
  return text;
}

}  // namespace ptxloom
