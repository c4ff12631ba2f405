// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ptxloom/kit/rows.hpp"

// The rows of a matrix whose transpose is in memory: element i of row r is element r of row i there. Each
// element is a load of its own; those of adjacent rows are adjacent, so lanes that have adjacent rows read
// whole sectors.
namespace ptxloom::quantize_kernel {

class TransposedRows {
 public:
  /// `row`: its number, a u32. `pitch`: elements from one row in memory to the next.
  TransposedRows(KernelBuilder& k, const kit::RowWindow& window, Reg row, Pointer base, std::uint64_t pitch);

  /// All chunks, packed as kit::RowTensor has them. Elements outside the row are zero.
  std::vector<std::vector<Reg>> load_all() const;

 private:
  void load(int slot, const std::vector<Reg>& elements) const;
  Reg address(int slot, int element) const;

  KernelBuilder& k_;
  kit::RowWindow window_;
  Type type_;
  std::int64_t pitch_;  // in bytes
  Reg first_;           // address of the first element of slot 0
};

}  // namespace ptxloom::quantize_kernel
