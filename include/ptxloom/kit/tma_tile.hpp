// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "ptxloom/kit/matrix.hpp"
#include "ptxloom/kit/swizzled_tile.hpp"
#include "ptxloom/kit/tma.hpp"
#include "ptxloom/tensor_map.hpp"

/// \file
/// Tiles in shared memory as TMA writes them and wgmma reads them (PTX ISA 9.7.15.5.1). One TMA load moves a
/// box: packed rows of 16 to 128 contiguous bytes, whose 16-byte chunks are swizzled by the row number
/// (swizzled_tile.hpp, matrix_swizzle). Boxes follow each other:
///
///     k-contiguous: a box has all rows of the tile       else: a box has all k of the tile
///     and up to 128 bytes of k                           and up to 128 bytes of m or n
///
///               k ->                                               m or n ->
///     m or n    | box 0 | box 1 |                        k         | box 0 | box 1 |
///
/// A tile that is not contiguous along k is transposed by wgmma, which only 16-bit types can. Thread blocks
/// of a cluster may share a tile: each loads some rows of all boxes for all of them. A tile begins at a
/// multiple of TmaTile::kAlignment bytes.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// What one TMA load or store moves.
struct TmaBox {
  int width = 0;      ///< elements of a row
  int row_bytes = 0;  ///< 16, 32, 64 or 128
  int rows = 0;       ///< number of rows, at most 256

  int bytes() const { return rows * row_bytes; }  ///< in shared memory
  /// The swizzle for rows of this length, as tensor maps name it.
  TensorSwizzle swizzle() const;
  /// The box as a tile that threads access, too.
  SwizzledTile tile() const { return {rows, row_bytes, matrix_swizzle(row_bytes)}; }
  /// The tensor map of a matrix of `rows` rows of `cols` elements, `ld` elements apart; a row has a multiple
  /// of 16 bytes. A nonzero `stride`, in elements, adds a dimension of `batches` matrices.
  TensorMap map(Type type, std::uint64_t cols, std::uint64_t rows, std::uint64_t ld, std::uint64_t stride,
                std::uint64_t batches) const;
};

/// The widest row of a box in bytes, 16 to 128, that divides `bytes`, a multiple of 16.
int dividing_row(int bytes);

/// A tile of a matrix operand, divided into boxes.
class TmaTile {
 public:
  static constexpr int kAlignment = 1024;  ///< bytes; where a tile begins: the pattern of the widest swizzle

  /// `extent` rows of A (columns of B) by `depth` elements of k, of which a warpgroup reads `part` rows
  /// (columns). The matrix must take TMA loads (takes_tma_loads() in packing.hpp). `sharing` thread blocks
  /// load it together. Throws Error(usage, "bad-tile") unless `sharing` divides the rows of a box.
  TmaTile(const MatrixOperand& matrix, int extent, int part, int depth, int sharing = 1);

  /// The tensor map for the loads, for a matrix in this many batches.
  TensorMap map(std::uint64_t batches = 1) const;
  /// Whether loads take the batch as an additional coordinate.
  bool of_batches() const { return matrix_.stride > 0; }
  const TmaBox& box() const { return box_; }                 ///< each of the boxes
  bool transposed() const { return !matrix_.k_contiguous; }  ///< wgmma transposes it
  /// Consecutive boxes: their number, and the offset of each in the tile along m or n, and along k, in
  /// elements. The last may extend past the tile.
  ///@{
  int boxes() const { return boxes_; }
  int box_extent(int box) const { return transposed() ? box * box_.width : 0; }
  int box_depth(int box) const { return transposed() ? 0 : box * box_.width; }
  ///@}
  int bytes() const { return boxes_ * box_.bytes(); }       ///< of all boxes, which one load brings
  int sharing() const { return sharing_; }                  ///< thread blocks that load it together
  int loaded_rows() const { return box_.rows / sharing_; }  ///< rows of a box that one TMA load moves

  /// wgmma's matrix descriptor, without its start address.
  std::uint64_t descriptor() const;
  /// The offset in bytes at which a wgmma for rows from `extent` and k from `depth` starts.
  int offset(int extent, int depth) const;

 private:
  MatrixOperand matrix_;
  TmaBox box_;
  int boxes_ = 0, sharing_;
};

/// Where a tile lies in its matrix.
struct TmaTileOrigin {
  Reg extent;                     ///< along m or n (u32)
  Reg depth;                      ///< along k (u32)
  std::optional<Reg> batch = {};  ///< if the tile is of batches
};

/// The TMA loads of tiles, issued by one thread.
class TmaTileLoads {
 public:
  /// `sharing`: as in all tiles that are loaded by several thread blocks, which are their whole cluster.
  TmaTileLoads(KernelBuilder& k, int sharing);

  /// Loads a tile to the shared address `to` (u32), and signals the mbarrier at `barrier`: bytes() in each
  /// thread block. `map`: generic address (u64) of its tensor map. `to` is a multiple of kAlignment,
  /// `barrier` (u32) one of 8, both in shared memory. `policy`: see BulkOptions. Called by one thread of each
  /// thread block.
  void load(const TmaTile& tile, Reg map, const TmaTileOrigin& origin, Reg to, Reg barrier,
            std::optional<Reg> policy = {});

 private:
  KernelBuilder& k_;
  Reg rank_, all_;  // of the thread blocks that share tiles
};

}  // namespace kit
}  // namespace ptxloom
