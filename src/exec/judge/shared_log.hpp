// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/judge/order.hpp"

// The latest accesses to each byte of a thread block's shared memory. Bytes are kept in groups of four until
// an access is smaller than four bytes or not four-byte aligned; from then on individually.
namespace ptxloom::exec {

/// One access. Strong ones (atomic, volatile, ordered) do not race with each other.
struct Touch {
  Order::Time time = 0;         ///< 0: there was none
  std::uint32_t operation = 0;  ///< index into Code::operations
  Order::Party party = 0;
  std::uint8_t lane = 0;  ///< kSeveral: lanes that wrote the same value at once
  bool strong = false;

  static constexpr std::uint8_t kSeveral = 255;
};

struct SharedCell {
  Touch write;
  Touch read;                     ///< the last unordered one since the write
  Touch other_read;               ///< the last of those by another warp than `read`
  Order::Time first_read = 0;     ///< of the first of them
  std::uint8_t second_lane = 0;   ///< another reading lane of that warp; `read.lane` if there is none
  std::uint64_t readers = 0;      ///< their warps, of the first 64
  std::uint16_t copied_from = 0;  ///< copies in flight that read it
  bool copied_to = false;         ///< a copy in flight writes it
  bool barrier = false;           ///< an mbarrier is here
};

class SharedLog {
 public:
  void reset(std::size_t bytes) {
    grain_ = kWord;
    cells_.assign((bytes + kWord - 1) / kWord, {});
  }
  /// Calls f(cell, offset) for the bytes [offset, offset + bytes).
  template <class F>
  void for_cells(std::uint32_t offset, std::uint32_t bytes, F f) {
    if (grain_ == kWord && (offset % kWord != 0 || bytes % kWord != 0)) split();
    for (std::uint32_t at = offset; at < offset + bytes; at += grain_) f(cells_[at / grain_], at);
  }

 private:
  static constexpr std::uint32_t kWord = 4;

  void split() {
    std::vector<SharedCell> bytes;
    bytes.reserve(cells_.size() * kWord);
    for (const SharedCell& cell : cells_) bytes.insert(bytes.end(), kWord, cell);
    cells_ = std::move(bytes);
    grain_ = 1;
  }

  std::uint32_t grain_ = kWord;
  std::vector<SharedCell> cells_;
};

}  // namespace ptxloom::exec
