// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/judge/cell_page.hpp"
#include "exec/judge/order.hpp"

// The latest accesses to each byte of a thread block's shared memory.
namespace ptxloom::exec {

/// One access.
struct Touch {
  Time time = 0;                ///< 0: there was none
  std::uint32_t operation = 0;  ///< index into Code::operations
  Party party = 0;
  std::uint8_t lane = 0;  ///< kSeveralLanes: lanes that wrote the same value at once
  AccessKind kind;
};

struct SharedCell {
  Touch write;
  Mask writing_lanes = 0;            ///< lanes of its warp that wrote with it, or with `weak` if it is strong
  Touch weak;                        ///< the last weak write before it, if `write` is strong
  Touch other_write;                 ///< in that case: a strong one that nothing orders before it
  Touch read;                        ///< the last unordered one since the write
  Touch other_read;                  ///< the last of those by another warp than `read`, or a strong one
  Time first_read = 0;               ///< of the first of them
  Mask reading_lanes = 0;            ///< lanes of its warp that have read since, `read.lane` among them
  std::uint64_t readers = 0;         ///< their warps, of the first 64
  std::uint64_t strong_readers = 0;  ///< warps of strong reads beside weak ones; `other_read` is the last
  std::uint64_t strong_writers = 0;  ///< if `write` is strong: its warp, and those of `other_write`
  Time first_strong = 0;             ///< of the first of `strong_readers`
  Time first_writer = 0;             ///< of the first of `strong_writers`
  Mask strong_lanes = 0;             ///< lanes that wrote with `write`, if it is strong
  std::uint16_t copied_from = 0;     ///< copies in flight that read it
  std::uint8_t second_lane = 0;      ///< another reading lane of that warp; `read.lane` if there is none
  bool copied_to = false;            ///< a copy in flight writes it
  bool barrier = false;              ///< an mbarrier is here
  bool overwritten = false;    ///< the reads came before `write`: they count for lanes that write with it
  bool shown = false;          ///< fence.mbarrier_init followed its initialisation
  bool read_by_proxy = false;  ///< some of the readers did so through the async proxy

  void forget_reads() {
    read = other_read = {};
    readers = strong_readers = 0;
    reading_lanes = 0;
    overwritten = read_by_proxy = false;
  }
};

class SharedLog {
 public:
  /// Forgets all accesses.
  void reset(std::size_t bytes) {
    pages_.resize((bytes + Page::kBytes - 1) / Page::kBytes);
    ++life_;
  }
  /// Calls f(cell, offset) for the bytes [offset, offset + bytes).
  template <class F>
  void for_cells(std::uint32_t offset, std::uint32_t bytes, F f) {
    for (std::uint32_t at = offset, end = offset + bytes; at < end;) {
      const std::uint32_t first = at / Page::kBytes * Page::kBytes;
      const std::uint32_t stop = std::min(end, first + Page::kBytes);
      page(at / Page::kBytes)
          .for_cells(at - first, stop - first,
                     [&](SharedCell& cell, std::uint32_t within) { f(cell, first + within); });
      at = stop;
    }
  }
  /// The same where f changes nothing, for bytes of one page.
  template <class F>
  void for_cells_at(std::uint32_t offset, std::uint32_t bytes, F f) {
    const std::uint32_t first = offset / Page::kBytes * Page::kBytes;
    page(offset / Page::kBytes)
        .for_cells_at(offset - first, offset - first + bytes,
                      [&](const SharedCell& cell, std::uint32_t within) { f(cell, first + within); });
  }
  /// The same as for_cells for all that was accessed.
  template <class F>
  void for_all(F f) {
    for (std::size_t i = 0; i < pages_.size(); ++i)
      if (pages_[i].life == life_) for_cells(static_cast<std::uint32_t>(i * Page::kBytes), Page::kBytes, f);
  }

 private:
  using Page = CellPage<SharedCell>;
  struct Living {
    Page cells;
    std::uint64_t life = 0;  // that they are of
  };
  Page& page(std::size_t number) {
    Living& page = pages_[number];
    if (page.life != life_) page.cells.reset();
    page.life = life_;
    return page.cells;
  }

  std::vector<Living> pages_;
  std::uint64_t life_ = 0;  // of the thread block
};

}  // namespace ptxloom::exec
