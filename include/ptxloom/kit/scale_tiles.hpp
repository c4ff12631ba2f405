// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ptxloom/builder.hpp"

/// \file
/// The scales of a matrix in tiles of 128 rows and 4 columns, as cuBLASLt ("1D block scaling factors layout")
/// and the block-scaled instructions of tcgen05 read them. A scale is a byte, a tile has 512 bytes, and the
/// tiles are in row-major order. In a tile the rows r, r + 32, r + 64 and r + 96 are together:
///
///     byte   0 .. 3      4 .. 7       8 .. 11      12 .. 15     16 .. 19  ...
///     row    0           32           64           96           1
///
/// What is outside the matrix in the last tiles is zero.
///
/// Errors: none of its own. A row and a column inside the matrix are not checked to be there.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// The scales of a matrix.
struct ScaleTiles {
  std::uint64_t rows = 0;     ///< of the matrix
  std::uint64_t columns = 0;  ///< scales of a row

  std::uint64_t tiles_down() const { return (rows + 127) / 128; }              ///< tiles, one below the other
  std::uint64_t tiles_across() const { return (columns + 3) / 4; }             ///< tiles of 128 rows
  std::uint64_t bytes() const { return 512 * tiles_down() * tiles_across(); }  ///< of all tiles
  /// Whether tiles have something outside the matrix.
  bool padded() const { return rows % 128 != 0 || columns % 4 != 0; }
  /// The extents of the bytes in memory.
  std::vector<std::uint64_t> shape() const { return {tiles_down(), tiles_across(), 32, 4, 4}; }
  /// The byte of a scale; the registers are u32, the result is a u64.
  ///@{
  std::uint64_t offset(std::uint64_t row, std::uint64_t column) const;
  Reg offset(KernelBuilder& k, Reg row, Reg column) const;
  ///@}
};

}  // namespace kit
}  // namespace ptxloom
