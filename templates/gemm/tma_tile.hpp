// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "config.hpp"
#include "ptxloom/tensor_map.hpp"

// Tiles in shared memory as tensor copies (TMA) write them and wgmma reads them. One copy moves a box: rows
// of 16 to 128 contiguous bytes, packed, whose 16-byte units change places by the row's number (swizzling by
// the row's length). Where the matrix is contiguous along k, a box has the tile's rows (columns of B) and 128
// bytes of k; where it is contiguous along m or n, a box has all of the tile's k and 128 bytes of m or n, and
// wgmma transposes. PTX ISA 9.7.15.5.1 has the layouts and the matrix descriptor.
namespace ptxloom::gemm_kernel {

struct Box {
  int width = 0;  ///< elements of a row
  int row_bytes = 0;
  int rows = 0;
  int bytes() const { return rows * row_bytes; }
  TensorSwizzle swizzle() const;
  /// Of a matrix of `rows` rows of `cols` elements, `ld` elements apart; of `batches` such, `stride` apart,
  /// where that is not 0: they are a dimension more.
  TensorMap map(Type type, std::uint64_t cols, std::uint64_t rows, std::uint64_t ld, std::uint64_t stride,
                std::uint64_t batches) const;
};

/// The widest row, of 128 bytes at most, of which whole ones make `bytes`.
int dividing_row(int bytes);

/// What a stage holds of A or B.
class OperandTile {
 public:
  /// `extent` rows of A (columns of B), of which a warpgroup uses `group_extent`, by `depth` elements of k.
  /// So many blocks bring it together, each some rows of all boxes.
  OperandTile(const Matrix& matrix, int extent, int group_extent, int depth, int sharing);

  TensorMap map(std::uint64_t batches) const;
  /// Copies name the batch, by a coordinate more.
  bool of_batches() const { return matrix_.stride > 0; }
  const Box& box() const { return box_; }
  bool transposed() const { return !matrix_.k_contiguous; }
  /// Boxes one after the other: number, and how far into the tile each begins along m or n, and along k. The
  /// last may bring more than the tile.
  int boxes() const { return boxes_; }
  int box_extent(int box) const { return transposed() ? box * box_.width : 0; }
  int box_depth(int box) const { return transposed() ? 0 : box * box_.width; }
  int bytes() const { return boxes_ * box_.bytes(); }
  int sharing() const { return sharing_; }
  /// Rows of a box that one copy moves.
  int copied_rows() const { return box_.rows / sharing_; }

  /// The matrix descriptor, but for the address it starts at.
  std::uint64_t descriptor() const;
  /// Bytes from the tile's start to where a wgmma of the rows from `extent` on and k from `depth` on begins.
  int offset(int extent, int depth) const;

 private:
  Matrix matrix_;
  Box box_;
  int boxes_ = 0, sharing_;
};

}  // namespace ptxloom::gemm_kernel
