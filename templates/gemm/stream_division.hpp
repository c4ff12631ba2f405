// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "ptxloom/builder.hpp"

// Stream-K: k of all tiles, one tile after the other, as a sequence of steps that the blocks of the grid
// share alike. A block computes the end of a tile that others have begun, whole tiles, and the beginning of
// one that others end. Where there are two blocks or more for each tile, as many share it alike, and no block
// has parts of two tiles: summing up twice takes longer than what idle blocks would do. Where there are tiles
// enough for more than two rounds, only so many of them are shared that one round to two remain for each
// block; the others are whole, and come behind. Of two blocks of a cluster that share an operand each
// computes its own tile of a pair, over the same steps: a tile is then such a pair here, and a block the
// cluster.
namespace ptxloom::gemm_kernel {

/// Steps of k of a tile that a block computes at one go.
struct StreamPortion {
  Reg tile;
  Reg begin, end;  ///< steps
  Reg whole;       ///< predicate: they are all of the tile's
};

/// A tile that several blocks share.
struct SharedTile {
  Reg tile;
  Reg first;  ///< the block that begins it; the next ones follow
  Reg parts;  ///< of as many blocks
};

class StreamDivision {
 public:
  /// So many `tiles`, each of so many `steps`; in all fewer than 2^31 steps. This is `block` of `blocks`.
  StreamDivision(KernelBuilder& k, Reg tiles, Arg steps, Reg block, Reg blocks);

  /// A loop over this block's portions.
  void for_each(const std::function<void(const StreamPortion&)>& body);
  /// A loop over the tiles, two at most, that it shares with others.
  void for_each_shared(const std::function<void(const SharedTile&)>& body);
  /// Who shares a tile that is not whole.
  SharedTile shared(Reg tile);

 private:
  KernelBuilder& k_;
  Arg steps_;
  Reg block_;
  Reg stride_;            // from tile to tile, in steps: those behind a tile's last are nobody's
  Reg all_;               // steps
  Reg share_;             // of them, of a block
  Reg begin_, end_;       // of this block's share
  Reg whole_at_, round_;  // its first whole tile behind, and the distance to the next one
};

}  // namespace ptxloom::gemm_kernel
