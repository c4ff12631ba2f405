// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/epilogue/result.hpp"
#include "ptxloom/kit/swizzled_tile.hpp"

// Copies parts of D from shared to global memory, row by row: adjacent threads store adjacent units, as wide
// as the alignment of D's rows allows.
namespace ptxloom::gemm_kernel {

struct RowCopyInputs {
  Reg shared;       ///< address of the first part
  Reg row, column;  ///< where it lies in D
  Reg thread;       ///< of those that copy, all together
  int threads = 0;
  Reg m, n;  ///< of the problem
  ResultSource d;
};

class RowCopy {
 public:
  RowCopy(KernelBuilder& k, const Problem& problem, const kit::SwizzledTile& part, const RowCopyInputs& in);

  /// Copies the part at this distance in bytes, rows and columns from the first. It must be visible to all
  /// threads in shared memory.
  void copy(int bytes, int row, int column);

 private:
  /// The position of the thread.
  struct Place {
    Reg from, to, rows_left;
  };
  void copy_rows(const Place& place, int rows, int bytes, int column);

  KernelBuilder& k_;
  const kit::SwizzledTile& part_;
  int size_, unit_;            // bytes of an element, and of one access
  int across_, rows_at_once_;  // threads
  Reg ld_, row_, columns_left_;
  Place first_;
};

}  // namespace ptxloom::gemm_kernel
