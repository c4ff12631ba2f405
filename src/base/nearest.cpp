// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace ptxloom {

namespace {

constexpr std::size_t kShort = 64;  // characters of words that need no allocation

std::size_t edit_distance(std::string_view a, std::string_view b, std::span<std::size_t> row) {
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // A common prefix or suffix needs no edits.
  const auto common = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  a.remove_prefix(static_cast<std::size_t>(common));
  b.remove_prefix(static_cast<std::size_t>(common));
  const auto alike = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first - a.rbegin();
  a.remove_suffix(static_cast<std::size_t>(alike));
  b.remove_suffix(static_cast<std::size_t>(alike));
  if (a.empty() || b.empty()) return a.size() + b.size();
  if (b.size() <= kShort) {
    std::array<std::size_t, kShort + 1> row;
    return edit_distance(a, b, std::span(row).first(b.size() + 1));
  }
  std::vector<std::size_t> row(b.size() + 1);
  return edit_distance(a, b, row);
}

Edits::Edits(std::string_view word) : size_(word.size()) {
  for (std::size_t i = 0; i < size_; ++i)
    places_[static_cast<unsigned char>(word[i])] |= std::uint64_t{1} << i;
}

// Myers, "A fast bit-vector algorithm for approximate string matching" (1999): a column of the distance table
// is two bit words, which say where it rises and where it falls.
std::size_t Edits::to(std::string_view other) const {
  if (size_ == 0) return other.size();
  std::uint64_t rises = ~std::uint64_t{0}, falls = 0;
  const std::uint64_t last = std::uint64_t{1} << (size_ - 1);
  std::size_t distance = size_;
  for (const char c : other) {
    const std::uint64_t same = places_[static_cast<unsigned char>(c)];
    const std::uint64_t level = (((same & rises) + rises) ^ rises) | same | falls;
    std::uint64_t up = falls | ~(level | rises), down = rises & level;
    if ((up & last) != 0) ++distance;
    if ((down & last) != 0) --distance;
    up = (up << 1) | 1;
    down <<= 1;
    rises = down | ~((same | falls) | up);
    falls = up & (same | falls);
  }
  return distance;
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  const Edits edits(word.substr(0, kShort));
  const auto distance = [&](std::string_view other) {
    return word.size() <= kShort ? edits.to(other) : edit_distance(word, other);
  };
  const std::string* best = nullptr;
  std::size_t least = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t edits_to_it = distance(candidate);
    if (best != nullptr && edits_to_it >= least) continue;
    best = &candidate;
    least = edits_to_it;
  }
  return best == nullptr ? std::string() : *best;
}

}  // namespace ptxloom
