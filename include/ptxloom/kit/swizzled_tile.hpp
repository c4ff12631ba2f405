// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ptxloom/builder.hpp"

/// \file
/// A tile in shared memory whose accesses do not conflict: rows of 16-byte chunks, where the chunks of a row
/// are permuted by an XOR with bits of the row number (the swizzle). With rows of 64 bytes, two of which
/// cover all banks:
///
///                chunk at address 0   16   32   48
///     row 0, 1                    0    1    2    3
///     row 2, 3                    1    0    3    2      bit 1 of the row flips bit 0 of the chunk,
///     row 4, 5                    2    3    0    1      bit 2 of the row flips bit 1 of the chunk
///     row 6, 7                    3    2    1    0
///
/// A column of eight chunks is then in eight different places of the 128 bytes that all banks have together.
///
/// The swizzle is linear over XOR, so an address at a constant distance from another one costs at most two
/// instructions: some bits are flipped, and a constant is added. The tile begins at a multiple of 128 bytes.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// A row bit that flips a bit of the number of each chunk.
struct SwizzleBit {
  int from = 0;  ///< bit of the row number
  int to = 0;    ///< bit of the chunk number, 0 to 2
};

/// The swizzle for accesses to one chunk of each of eight consecutive rows, as ldmatrix and stmatrix make
/// them. For rows of up to 128 bytes it is also that of TMA (TensorSwizzle). `row_bytes`: a power of two, at
/// least 16.
std::vector<SwizzleBit> matrix_swizzle(int row_bytes);

/// A constant distance inside a tile.
struct Distance {
  int flip = 0;  ///< bits that are flipped in the address
  int add = 0;   ///< bytes that are added afterwards
};

/// The shape of a tile.
class SwizzledTile {
 public:
  /// Throws Error(usage, "bad-tile") if a row is not a power of two of bytes, at least 16, or if the swizzle
  /// moves chunks out of their row, or out of the 128 bytes that they are in.
  SwizzledTile(int rows, int row_bytes, std::vector<SwizzleBit> swizzle);

  int rows() const { return rows_; }                ///< number of rows
  int row_bytes() const { return row_bytes_; }      ///< bytes of a row
  int bytes() const { return rows_ * row_bytes_; }  ///< of the whole tile

  /// The address of a byte of a row inside the tile, from registers (u32). Byte b of a chunk is at byte b of
  /// its place.
  Reg address(KernelBuilder& k, Reg row, Reg byte) const;
  /// From an address to the one `rows` and `bytes` further. Neither may have a bit in common with the row or
  /// byte of the address that it starts from.
  Distance distance(int rows, int bytes) const;
  /// The address at a constant distance from `base`, the address of a byte of the tile in shared memory.
  Address at(KernelBuilder& k, Reg base, int rows, int bytes) const;

 private:
  int flips(int row) const;
  int rows_, row_bytes_, chunk_mask_;
  std::vector<SwizzleBit> swizzle_;
};

}  // namespace kit
}  // namespace ptxloom
