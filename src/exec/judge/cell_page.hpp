// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// What is remembered of the bytes of a page of memory. Bytes are kept in groups of sixteen, as matrix
// operands, vectors and most copies are accessed, until an access begins or ends within one; from then on the
// page has groups of four bytes, and after a smaller access single bytes.
namespace ptxloom::exec {

template <class Cell>
class CellPage {
 public:
  static constexpr std::uint32_t kBytes = 256;

  void reset() {
    grain_ = kCoarse;
    cells_.assign(kBytes / kCoarse, {});
  }
  /// Calls f(cell, offset) for the bytes [begin, end) of the page.
  template <class F>
  void for_cells(std::uint32_t begin, std::uint32_t end, F f) {
    while (((begin | end) & (grain_ - 1)) != 0) split();
    for (std::uint32_t at = begin; at < end; at += grain_) f(cells_[at / grain_], at);
  }

 private:
  static constexpr std::uint32_t kCoarse = 16, kParts = 4;

  void split() {
    std::vector<Cell> parts;
    parts.reserve(cells_.size() * kParts);
    for (const Cell& cell : cells_) parts.insert(parts.end(), kParts, cell);
    cells_ = std::move(parts);
    grain_ /= kParts;
  }

  std::uint32_t grain_ = kCoarse;
  std::vector<Cell> cells_;
};

}  // namespace ptxloom::exec
