// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ptxloom/type.hpp"

/// \file
/// The order in memory of rows that are sparse 2:4, for mma.sp and wgmma.sp: of each group of four adjacent
/// elements along k at most two are not zero (of tf32: of two, one). Half of the elements are stored, and
/// four bits for each group say where they were. Rows are n, and each has k elements, filled up with zeros to
/// a multiple of 128, or of 256 elements of 8 bits.
///
/// Values: rows of k / 2 elements without gaps, for each group its two elements (one of tf32), in order.
///
/// Metadata: the four bits of a group are the positions of its two elements, the first in the low two bits;
/// the first is less than the second. Of tf32 they are 4 for the first of two elements, and 14 for the
/// second. A tile is 64 rows x 16 groups, 512 bytes: each thread of a warpgroup has the 32-bit word that its
/// warp needs, so that warp w has rows 16 w to 16 w + 15. Tiles follow each other along k, then along n. For
/// row r and group g of a tile:
///
///                          thread                             the lowest of the four bits in its word
///     16 bits, tf32        r / 16 * 32 + r % 8 * 4 + g / 4    4 (g % 4) + 16 (r % 16 / 8)
///     8 bits               r / 16 * 32 + r % 8 * 4            4 (g % 8)
///                            + g / 8 * 2 + r % 16 / 8
///
/// Metadata of rows that fill up a tile are valid, and their values are not read.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// The layout of one sparse matrix.
class SparseLayout {
 public:
  static constexpr int kTileRows = 64;                 ///< rows of a tile of metadata
  static constexpr int kTileGroups = 16;               ///< groups of a tile
  static constexpr int kTileBytes = 512;               ///< of a tile
  static constexpr std::byte kFirst = std::byte{0x4};  ///< positions 0 and 1; of tf32 the first element
  /// `element`: f16, bf16, tf32, e4m3, e5m2, s8 or u8. Throws Error(usage, "bad-sparse-layout") for other
  /// types, and for sizes of zero.
  SparseLayout(Type element, std::uint64_t rows, std::uint64_t depth);

  Type element() const { return element_; }               ///< of a value
  std::uint64_t rows() const { return rows_; }            ///< n
  std::uint64_t depth() const { return depth_; }          ///< k
  int group() const { return element_ == tf32 ? 2 : 4; }  ///< elements that share four bits of metadata
  int depth_unit() const { return element_.bits == 8 ? 256 : 128; }  ///< k is filled up to a multiple of it
  std::uint64_t stored() const;                                      ///< values of a row
  int tile_depth() const { return group() * kTileGroups; }           ///< elements of k of a tile of metadata
  std::uint64_t row_tiles() const;                                   ///< tiles along n
  std::uint64_t depth_tiles() const;                                 ///< tiles along k
  std::uint64_t value_bytes() const;                                 ///< of all values
  std::uint64_t metadata_bytes() const;                              ///< of all tiles
  /// Where the four bits of a group of a row begin in the metadata, in bits.
  std::uint64_t metadata_bit(std::uint64_t row, std::uint64_t group) const;

 private:
  Type element_;
  std::uint64_t rows_, depth_;
};

/// Takes the zeros out of rows. `dense`: rows of k elements, each of which begins `pitch` elements after the
/// one before. `values` and `metadata`: SparseLayout::value_bytes() and metadata_bytes(). Zeros of either
/// sign need not be stored; NaN is not zero. Throws Error(usage): "not-sparse" if a group has more elements
/// that are not zero, with its row and columns; "bad-stride" for a pitch shorter than a row;
/// "buffer-too-small".
void compress_rows(const SparseLayout& layout, std::span<const std::byte> dense, std::uint64_t pitch,
                   std::span<std::byte> values, std::span<std::byte> metadata);

}  // namespace kit
}  // namespace ptxloom
