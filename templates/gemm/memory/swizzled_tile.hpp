// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "gemm/config/config.hpp"
#include "ptxloom/builder.hpp"

// A tile in shared memory: rows of 16-byte chunks. The chunks of a row are permuted by an XOR with bits of
// the row number (the swizzle), so that a warp's accesses hit different banks. The swizzle is linear over
// XOR: an address at a constant distance is the base with some bits flipped, plus a constant.
namespace ptxloom::gemm_kernel {

/// Row bit `from` flips chunk bit `to`.
struct SwizzleBit {
  int from = 0, to = 0;
};

/// A constant distance inside a tile.
struct Distance {
  int flip = 0;  ///< XORed into the address
  int add = 0;   ///< then added
};

class SwizzledTile {
 public:
  SwizzledTile(int rows, int row_bytes, std::vector<SwizzleBit> swizzle);

  int rows() const { return rows_; }
  int row_bytes() const { return row_bytes_; }
  int bytes() const { return rows_ * row_bytes_; }

  /// Byte address of (row, byte) inside the tile, in registers.
  Reg address(KernelBuilder& k, Reg row, Reg byte) const;
  /// From an address to the one `rows` and `bytes` further, if those have no bits in common with the base's.
  Distance distance(int rows, int bytes) const;

 private:
  int flips(int row) const;
  int rows_, row_bytes_, chunk_mask_;
  std::vector<SwizzleBit> swizzle_;
};

/// How fragments of an operand are loaded from its tile into registers.
enum class Path {
  ldmatrix,        ///< k-contiguous, up to 32 bits
  ldmatrix_trans,  ///< transposed, 16 bits
  ldmatrix_bytes,  ///< transposed, 8 bits: pairs of bytes through ldmatrix.trans, then sorted by prmt
  scalar,          ///< transposed tf32, and f64: element by element
};
Path path_of(const Matrix& matrix);

/// The shared memory tile of a stage of A or B.
SwizzledTile operand_tile(const Matrix& matrix, int extent, int tile_k);

}  // namespace ptxloom::gemm_kernel
