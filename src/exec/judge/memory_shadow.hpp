// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "exec/judge/origins.hpp"

// The bits of a piece of memory that nobody has written, and for each word where undefined bits that were
// stored there come from.
namespace ptxloom::exec {

class MemoryShadow {
 public:
  /// Nobody has written any of it.
  void reset(std::size_t bytes) {
    bits_.assign(bytes, std::byte{0xff});
    if (!origins_set_ && !origins_.empty()) return;  // mostly there are none
    origins_.assign(bytes / kWord + 1, Origins::kUnwritten);
    origins_set_ = false;
  }
  std::span<std::byte> bits(std::size_t offset, std::size_t bytes) {
    return std::span(bits_).subspan(offset, bytes);
  }
  Origins::Id origin(std::size_t offset) const { return origins_[offset / kWord]; }
  void set_origin(std::size_t offset, std::size_t bytes, Origins::Id origin) {
    origins_set_ = true;
    for (std::size_t i = 0; i < bytes; i += kWord) origins_[(offset + i) / kWord] = origin;
  }
  void define(std::size_t offset, std::size_t bytes) { std::ranges::fill(bits(offset, bytes), std::byte{}); }
  void undefine(std::size_t offset, std::size_t bytes) {
    std::ranges::fill(bits(offset, bytes), std::byte{0xff});
    if (origins_set_) set_origin(offset, bytes, Origins::kUnwritten);
  }
  /// Bytes move here from another place, which may be in the same piece.
  void move(std::size_t to, MemoryShadow& from, std::size_t offset, std::size_t bytes) {
    std::memmove(bits(to, bytes).data(), from.bits(offset, bytes).data(), bytes);
    if (!from.origins_set_) return;
    for (std::size_t i = 0; i < bytes; i += kWord) set_origin(to + i, 1, from.origin(offset + i));
  }

 private:
  static constexpr std::size_t kWord = 4;
  std::vector<std::byte> bits_;
  std::vector<Origins::Id> origins_;
  bool origins_set_ = false;
};

}  // namespace ptxloom::exec
