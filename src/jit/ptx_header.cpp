// SPDX-License-Identifier: Apache-2.0
#include "jit/ptx_header.hpp"

#include <algorithm>

#include "ptxloom/error.hpp"

namespace ptxloom::jit {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

void skip_space(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
}

}  // namespace

std::optional<std::string> directive_argument(std::string_view ptx, std::string_view directive) {
  while (!ptx.empty()) {
    skip_space(ptx);
    if (ptx.starts_with("//")) {
      ptx.remove_prefix(std::min(ptx.find('\n'), ptx.size()));
    } else if (ptx.starts_with("/*")) {
      const std::size_t end = ptx.find("*/");
      ptx.remove_prefix(end == std::string_view::npos ? ptx.size() : end + 2);
    } else if (ptx.starts_with(directive)) {
      ptx.remove_prefix(directive.size());
      skip_space(ptx);
      return std::string(ptx.substr(0, ptx.find_first_of(" \t\r\n,;/")));
    } else {
      ptx.remove_prefix(std::min(ptx.find_first_of(kSpace), ptx.size()));
    }
  }
  return std::nullopt;
}

std::optional<Version> ptx_version_of(std::string_view ptx) {
  const std::optional<std::string> text = directive_argument(ptx, ".version");
  if (!text) return std::nullopt;
  try {
    return parse_version(*text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace ptxloom::jit
