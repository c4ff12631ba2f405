// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "ptxloom/specs.hpp"

namespace ptxloom::spec {

/// Whether a module whose .target names these options has the variant.
inline bool in_mode(const Variant& variant, std::span<const std::string> options) {
  const std::string_view wanted = variant.mode();
  if (wanted.empty()) return true;
  const bool absent = wanted.starts_with('!');
  return (std::ranges::find(options, wanted.substr(absent ? 1 : 0)) != options.end()) != absent;
}

}  // namespace ptxloom::spec
