// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config.hpp"
#include "ptxloom/builder.hpp"

// A tile in shared memory: rows of 16-byte chunks, the chunks of a row permuted by an XOR with some bits of
// the row number (the swizzle), so that what a warp reads at once lies in different banks. The swizzle is
// linear over XOR: an address at a constant distance is the base with some bits flipped, plus a constant.
namespace ptxloom::gemm_kernel {

/// Which bits of the row number flip which bit of the chunk number: row bit `from` flips chunk bit `to`.
struct SwizzleBit {
  int from = 0, to = 0;
};

/// A constant distance inside a tile.
struct Distance {
  int flip = 0;  ///< XORed into the address
  int add = 0;   ///< then added
};

class Tile {
 public:
  Tile(int rows, int row_bytes, std::vector<SwizzleBit> swizzle);

  int rows() const { return rows_; }
  int row_bytes() const { return row_bytes_; }
  int bytes() const { return rows_ * row_bytes_; }

  /// Byte address of (row, byte) inside the tile, in registers.
  Reg address(KernelBuilder& k, Reg row, Reg byte) const;
  /// From any address to the one `rows` and `bytes` further, where the bits of both stay apart from the
  /// base's.
  Distance distance(int rows, int bytes) const;

 private:
  int flips(int row) const;
  int rows_, row_bytes_, chunk_mask_;
  std::vector<SwizzleBit> swizzle_;
};

/// How fragments of an operand get from its tile into registers.
enum class Path {
  ldmatrix,        ///< k-contiguous, up to 32 bits
  ldmatrix_trans,  ///< transposed, 16 bits
  ldmatrix_bytes,  ///< transposed, 8 bits: pairs of bytes through ldmatrix.trans, then sorted by prmt
  scalar,          ///< transposed tf32, and f64: element by element
};
Path path_of(const Matrix& matrix);

/// The shared tile of a stage of A or B.
Tile operand_tile(const Matrix& matrix, int extent, int tile_k);

}  // namespace ptxloom::gemm_kernel
