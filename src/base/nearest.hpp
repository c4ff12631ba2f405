// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ptxloom {

/// The edits (insert, delete, replace a character) that turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);
/// The distances from one word of at most 64 characters to many others.
class Edits {
 public:
  explicit Edits(std::string_view word);
  std::size_t to(std::string_view other) const;

 private:
  std::size_t size_;
  std::array<std::uint64_t, 256> places_{};  // by character: a bit for each position of it in the word
};

/// The candidate nearest to a mistyped word; empty if there are none.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace ptxloom
