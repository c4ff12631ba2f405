// SPDX-License-Identifier: Apache-2.0
#include "base/json_depth.hpp"

#include <cstddef>

namespace ptxloom {

bool is_nested_too_deeply(std::string_view json) noexcept {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '[' || c == '{')) {
      if (++depth > kDeepestJson) return true;
    } else if (!quoted && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return false;
}

}  // namespace ptxloom
