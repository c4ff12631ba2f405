// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "gemm/config/config.hpp"
#include "ptxloom/tensor_map.hpp"

// Tiles in shared memory as TMA writes them and wgmma reads them. One TMA load moves a box: packed rows of 16
// to 128 contiguous bytes, whose 16-byte units are permuted by the row number (a swizzle of the row's
// length). If the matrix is contiguous along k, a box has the tile's rows (columns of B) and 128 bytes of k.
// If it is contiguous along m or n, a box has all of the tile's k and 128 bytes of m or n, and wgmma
// transposes. PTX ISA 9.7.15.5.1 has the layouts and the matrix descriptor.
namespace ptxloom::gemm_kernel {

struct Box {
  int width = 0;  ///< elements per row
  int row_bytes = 0;
  int rows = 0;
  int bytes() const { return rows * row_bytes; }
  TensorSwizzle swizzle() const;
  /// For a matrix of `rows` rows of `cols` elements, `ld` elements apart. A nonzero `stride` adds a dimension
  /// of `batches` matrices.
  TensorMap map(Type type, std::uint64_t cols, std::uint64_t rows, std::uint64_t ld, std::uint64_t stride,
                std::uint64_t batches) const;
};

/// The widest row, up to 128 bytes, that divides `bytes`.
int dividing_row(int bytes);

/// The part of a stage that holds A or B.
class OperandTile {
 public:
  /// `extent` rows of A (columns of B), of which a warpgroup uses `warpgroup_extent`, by `depth` elements of
  /// k. `sharing` thread blocks load it together, each some rows of all boxes.
  OperandTile(const Matrix& matrix, int extent, int warpgroup_extent, int depth, int sharing);

  TensorMap map(std::uint64_t batches) const;
  /// Loads take the batch as an additional coordinate.
  bool of_batches() const { return matrix_.stride > 0; }
  const Box& box() const { return box_; }
  bool transposed() const { return !matrix_.k_contiguous; }
  /// Consecutive boxes: their number, and the offset of each in the tile along m or n, and along k. The last
  /// may extend past the tile.
  int boxes() const { return boxes_; }
  int box_extent(int box) const { return transposed() ? box * box_.width : 0; }
  int box_depth(int box) const { return transposed() ? 0 : box * box_.width; }
  int bytes() const { return boxes_ * box_.bytes(); }
  int sharing() const { return sharing_; }
  /// Rows of a box that one TMA load moves.
  int loaded_rows() const { return box_.rows / sharing_; }

  /// The matrix descriptor, without its start address.
  std::uint64_t descriptor() const;
  /// Byte offset in the tile at which a wgmma for rows from `extent` and k from `depth` starts.
  int offset(int extent, int depth) const;

 private:
  Matrix matrix_;
  Box box_;
  int boxes_ = 0, sharing_;
};

}  // namespace ptxloom::gemm_kernel
