// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ptxloom {

/// Edits (insert, drop, replace a character) that turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);
/// The candidate nearest to a mistyped word; empty if there are none.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace ptxloom
