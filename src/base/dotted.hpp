// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ptxloom {

/// Whether a name of dot-separated words starts with these words: "%tid.x" with "%tid", "wgmma.fence" with
/// "wgmma", but "atomic" not with "atom".
inline bool begins_with_words(std::string_view name, std::string_view words) {
  return name.starts_with(words) && (name.size() == words.size() || name[words.size()] == '.');
}

}  // namespace ptxloom
