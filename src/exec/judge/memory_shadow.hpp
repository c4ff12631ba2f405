// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "exec/judge/origins.hpp"

// The bits of a piece of memory that nobody has written, for each word where undefined bits that were
// stored there come from, and which bytes are padding of a struct.
//
// Padding are bytes that nobody has written between a member and the next multiple of the alignment of a
// larger one, which is behind them or not far before them. Members are known by the stores that wrote them.
namespace ptxloom::exec {

class MemoryShadow {
 public:
  /// Nobody has written any of it.
  void reset(std::size_t bytes) {
    bits_.assign(bytes, std::byte{0xff});
    members_.assign(bytes, kNone);
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
  /// A store of elements of `member` bytes has written the bytes.
  void set_member(std::size_t offset, std::size_t bytes, std::uint32_t member) {
    std::fill_n(members_.begin() + static_cast<std::ptrdiff_t>(offset), bytes,
                static_cast<std::uint8_t>(member));
  }
  /// The byte was stored from a register, to which padding was moved.
  void set_padding(std::size_t offset) { members_[offset] = kPadding; }
  /// Whether an undefined byte is padding for an access of the bytes from `begin` to `end`, which also
  /// accesses the member before it.
  bool is_padding(std::size_t byte, std::size_t begin, std::size_t end) const;
  void define(std::size_t offset, std::size_t bytes) { std::ranges::fill(bits(offset, bytes), std::byte{}); }
  void undefine(std::size_t offset, std::size_t bytes) {
    std::ranges::fill(bits(offset, bytes), std::byte{0xff});
    set_member(offset, bytes, kNone);
    if (origins_set_) set_origin(offset, bytes, Origins::kUnwritten);
  }
  /// Bytes move here from another place, which may be in the same piece.
  void move(std::size_t to, MemoryShadow& from, std::size_t offset, std::size_t bytes) {
    std::memmove(bits(to, bytes).data(), from.bits(offset, bytes).data(), bytes);
    std::memmove(members_.data() + to, from.members_.data() + offset, bytes);
    if (!from.origins_set_) return;
    for (std::size_t i = 0; i < bytes; i += kWord) set_origin(to + i, 1, from.origin(offset + i));
  }

 private:
  static constexpr std::size_t kWord = 4;
  static constexpr std::uint8_t kNone = 0, kPadding = 0xff;
  bool is_unwritten(std::size_t byte) const {
    return members_[byte] == kNone && bits_[byte] == std::byte{0xff};
  }
  std::size_t largest_member(std::size_t begin, std::size_t end) const;

  std::vector<std::byte> bits_;
  std::vector<std::uint8_t> members_;  // bytes of the element that was stored, or one of the above
  std::vector<Origins::Id> origins_;
  bool origins_set_ = false;
};

}  // namespace ptxloom::exec
