// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "result.hpp"
#include "tile.hpp"

// Parts of D from shared memory to global memory, row by row: neighbouring threads store neighbouring units,
// each as wide as D's rows are aligned.
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
  RowCopy(KernelBuilder& k, const Problem& problem, const Tile& part, const RowCopyInputs& in);

  /// The part so many bytes, rows and columns after the first. It is in shared memory, for all threads to
  /// see.
  void copy(int bytes, int row, int column);

 private:
  /// Where the thread stands.
  struct Place {
    Reg from, to, rows_left;
  };
  void copy_rows(const Place& place, int rows, int bytes, int column);

  KernelBuilder& k_;
  const Tile& part_;
  int size_, unit_;            // bytes of an element, and of what is moved at once
  int across_, rows_at_once_;  // threads
  Reg ld_, row_, columns_left_;
  Place first_;
};

}  // namespace ptxloom::gemm_kernel
