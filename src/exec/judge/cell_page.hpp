// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// What is remembered of the bytes of a page of memory. They are kept as one group, as tensor copies access
// them, until an access begins or ends within it; from then on the page has groups of sixteen bytes, as
// matrix operands and vectors are accessed, then of four bytes, and after a smaller access single bytes.
namespace ptxloom::exec {

template <class Cell>
class CellPage {
 public:
  static constexpr std::uint32_t kBytes = 256;

  void reset() {
    grain_ = kBytes;
    cells_.assign(1, {});
  }
  /// Calls f(cell, offset) for the bytes [begin, end) of the page.
  template <class F>
  void for_cells(std::uint32_t begin, std::uint32_t end, F f) {
    while (((begin | end) & (grain_ - 1)) != 0) split();
    for (std::uint32_t at = begin; at < end; at += grain_) f(cells_[at / grain_], at);
  }

  /// The same for the groups that have any of these bytes, which stay as they are.
  template <class F>
  void for_cells_at(std::uint32_t begin, std::uint32_t end, F f) const {
    for (std::uint32_t at = begin / grain_ * grain_; at < end; at += grain_)
      f(cells_[at / grain_], std::max(at, begin));
  }

 private:
  static constexpr std::uint32_t kVector = 16;

  void split() {
    const std::uint32_t parts = grain_ > kVector ? grain_ / kVector : 4;
    std::vector<Cell> split;
    split.reserve(cells_.size() * parts);
    for (const Cell& cell : cells_) split.insert(split.end(), parts, cell);
    cells_ = std::move(split);
    grain_ /= parts;
  }

  std::uint32_t grain_ = kBytes;
  std::vector<Cell> cells_;
};

}  // namespace ptxloom::exec
