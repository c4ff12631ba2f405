// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ptxloom/kit/swizzled_tile.hpp"

/// \file
/// Copies of tiles from shared memory to the rows of a matrix in global memory, by the threads of a warpgroup
/// or of a thread block, for rows that TMA refuses: they may begin at any element. Adjacent threads store
/// adjacent units, as wide as the alignment of the rows allows. With 8 threads and rows of 4 units:
///
///     tile in shared memory                        matrix in global memory
///     row 0   | t0 | t1 | t2 | t3 |      ->        . . . | t0 | t1 | t2 | t3 | . .     `ld` elements
///     row 1   | t4 | t5 | t6 | t7 |      ->        . . . | t4 | t5 | t6 | t7 | . .     from row to row
///     row 2   | t0 | t1 | t2 | t3 |      ->        . . .
///
/// What lies outside the matrix is not stored. A unit never lies across the end of a row: its size divides
/// the bytes of a row. Copies the other way are those of tile_copy.hpp.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// What is copied, and by how many threads.
struct RowCopyShape {
  Type type = {};    ///< of an element: 8 bits or more
  int unit = 16;     ///< bytes of an access: alignment() of the matrix for whole rows (matrix.hpp)
  int threads = 32;  ///< that copy together
};

/// Registers that a copy starts from.
struct RowCopyInputs {
  Reg shared;   ///< u32: address of the first tile in shared memory, a multiple of 128
  Reg row;      ///< u32: where the first tile begins in the matrix
  Reg column;   ///< u32: the same, a multiple of a unit
  Reg thread;   ///< u32: number of this thread, below `threads`
  Reg rows;     ///< u32, of the matrix
  Reg columns;  ///< u32, of the matrix
  Reg pointer;  ///< u64: the matrix, at a multiple of 16 bytes
  Reg ld;       ///< u32: its leading dimension, in elements
};

/// Copies one tile after the other. All threads call its functions.
class RowCopy {
 public:
  /// Emits the setup: this thread's place in a tile and in the matrix. Throws Error(usage, "bad-row-copy")
  /// unless the number of threads is a power of two, a unit is a power of two of bytes that holds whole
  /// elements, at most 16, and the threads copy a tile in whole rounds.
  RowCopy(KernelBuilder& k, const RowCopyShape& shape, const SwizzledTile& tile, const RowCopyInputs& in);

  /// Copies the tile at this distance from the first: in bytes of shared memory, and in rows and columns of
  /// the matrix. A barrier has made it visible to all threads.
  void copy(int bytes, int row, int column);

 private:
  /// The position of the thread.
  struct Place {
    Reg from, to, rows_left;
  };
  int group() const;
  void check(const RowCopyShape& shape) const;
  void copy_rows(const Place& place, int rows, int bytes, int column);
  void copy_unit(const Address& from, const Address& to);

  KernelBuilder& k_;
  SwizzledTile tile_;
  int size_, unit_;            // bytes of an element, and of one access
  int across_, rows_at_once_;  // threads
  Reg ld_, row_, columns_left_;
  Place first_;
};

}  // namespace kit
}  // namespace ptxloom
