// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ptxloom/kit/fragments.hpp"
#include "ptxloom/kit/swizzled_tile.hpp"

/// \file
/// Results of a warp, stored from registers to a tile in shared memory. Accumulators of mma.sync or wgmma
/// that were converted to 16 bits are packed in pairs: a register of all lanes then holds a matrix of 8 x 8
/// elements.
///
///     row 0       | lane 0 | lane 1 | lane 2 | lane 3 |      lane l holds row l / 4 and the columns
///     row 1       | lane 4 | lane 5 | lane 6 | lane 7 |      from l % 4 * 2 on
///     ...
///
/// stmatrix stores up to four such matrices at once; where the target lacks it, each lane stores its own
/// pairs by st.shared. The tile holds the same bytes either way. With matrix_swizzle() stmatrix meets no bank
/// conflict.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// Two adjacent 16-bit elements of a row in a register (b32), the first in the low half. The place is that of
/// lane 0, in elements from the origin of the warp's part of the tile.
struct PackedPair {
  int row = 0;     ///< from the origin
  int column = 0;  ///< from the origin, even
  Reg value;       ///< of this lane
};

/// Registers that the stores start from, u32. `row` and `column` are multiples of the extents of the warp's
/// part, rounded up to powers of two.
struct MatrixStoreInputs {
  Reg shared;  ///< address of the tile in shared memory, a multiple of 128
  Reg row;     ///< of the warp's part in the tile
  Reg column;  ///< in elements
  Reg lane;    ///< 0 to 31
  /// fragment_order() of A and of B, if Fragments loads them. Interleaved columns are stored by st.shared.
  ///@{
  FragmentOrder row_order = {}, column_order = {};
  ///@}
};

/// Whether the target has stmatrix.
bool has_stmatrix(KernelBuilder& k);
/// Emits stmatrix for one, two or four matrices. Lane l gives the address of row l % 8 of matrix l / 8.
void stmatrix(KernelBuilder& k, Address row, const std::vector<Reg>& matrices);

/// Stores the pairs of a warp, in any order; all lanes call it together, and a barrier makes the elements
/// visible to other warps. Without interleaved columns the pairs are a grid of matrices with a power of two
/// of them side by side: columns are 8 apart, and where one instruction covers several rows of matrices, so
/// are those rows at one distance. Throws Error(usage, "bad-fragments") if they are not, or if there are
/// none.
void store_matrices(KernelBuilder& k, const SwizzledTile& tile, std::vector<PackedPair> pairs,
                    const MatrixStoreInputs& in);
/// The same by st.shared, from the place of this lane's first element in the tile (u32), in the order of
/// `pairs`.
void store_pairs_shared(KernelBuilder& k, const SwizzledTile& tile, const std::vector<PackedPair>& pairs,
                        Reg shared, Reg row, Reg column);

}  // namespace kit
}  // namespace ptxloom
