// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <tuple>

#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"
#include "text/lexer.hpp"

// Wraps statements into a kernel and a module; diagnostics use the line numbers of the statements.
namespace ptxloom {
namespace {

/// Declarations can begin with the kernel's parameters, "(.param .b16 p)"; 0 if they do not.
std::size_t end_of_parameters(std::string_view declarations) {
  const std::size_t begin = declarations.find_first_not_of(" \t\r\n");
  if (begin == declarations.npos || declarations[begin] != '(') return 0;
  const std::size_t end = declarations.find(')', begin);
  return end == declarations.npos ? declarations.size() : end + 1;
}

std::string module_of(const Snippet& snippet) {
  std::string text = ".version ";
  text.reserve(snippet.declarations.size() + snippet.ptx.size() + 128);
  text.append(to_string(snippet.version)).append("\n.target ").append(snippet.target);
  const std::size_t after = end_of_parameters(snippet.declarations);
  const std::string_view parameters = snippet.declarations.substr(0, after);
  text.append("\n.address_size 64\n.visible .entry k").append(after == 0 ? "()" : parameters);
  text.append("\n{\n").append(snippet.declarations.substr(after));
  return text.append("\n").append(snippet.ptx).append("\n}\n");
}

// A surplus `}` would end the kernel, and put what follows outside it.
std::optional<Diagnostic> unbalanced(std::string_view text, const char* where) {
  int depth = 0;
  const text::Tokens tokens =
      text.find_first_of("{}/\"") == text.npos ? text::Tokens{} : text::tokenize(text);
  for (const text::Token& token : tokens.tokens) {
    depth += token.is("{") ? 1 : token.is("}") ? -1 : 0;
    if (depth >= 0) continue;
    return Diagnostic{.code = "syntax",
                      .message = std::string("there is no '{' for a '}' in ") + where,
                      .hint = {},
                      .line = token.line,
                      .column = token.column};
  }
  if (depth == 0) return std::nullopt;
  const text::Token& end = tokens.tokens.back();
  return Diagnostic{.code = "syntax",
                    .message = std::string("there is no '}' for a '{' in ") + where,
                    .hint = {},
                    .line = end.line,
                    .column = end.column};
}

struct Place {
  int line = 1, column = 1;
};
Place end_of(std::string_view text) {
  const auto lines = std::count(text.begin(), text.end(), '\n');
  return {static_cast<int>(lines) + 1, static_cast<int>(text.size() - (text.rfind('\n') + 1)) + 1};
}

}  // namespace

std::vector<Diagnostic> check(const Snippet& snippet, const std::shared_ptr<const Specs>& specs) {
  if (auto found = unbalanced(snippet.declarations, "the declarations")) {
    found->line = found->column = 0;
    return {std::move(*found)};
  }
  if (auto found = unbalanced(snippet.ptx, "the statements")) return {std::move(*found)};
  try {
    specs->target(snippet.target);
  } catch (const Error& error) {
    return error.diagnostics();
  }
  const std::string text = module_of(snippet);
  ParseResult read = parse(text, specs);
  std::vector<Diagnostic> found = std::move(read.diagnostics);
  for (Diagnostic& diagnostic : check(read.module))
    if (diagnostic.code != "call-result")
      found.push_back(std::move(diagnostic));  // the call may stand before

  const Place end = end_of(snippet.ptx);
  const int before = 6 + end_of(snippet.declarations).line - 1;  // lines of the module header and of the
                                                                 // declarations
  for (Diagnostic& diagnostic : found) {
    diagnostic.line -= before;
    if (diagnostic.line <= 0) diagnostic.line = diagnostic.column = 0;
    if (diagnostic.line > end.line)
      std::tie(diagnostic.line, diagnostic.column) = std::tie(end.line, end.column);
  }
  return found;
}

}  // namespace ptxloom
