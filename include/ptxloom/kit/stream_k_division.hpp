// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "ptxloom/builder.hpp"

/// \file
/// Stream-K: the k-blocks of all tiles, one tile after another, form a sequence that the thread blocks of the
/// grid share evenly. Here 3 tiles of 4 k-blocks and 2 thread blocks, with a share of 6 k-blocks each:
///
///     tile          |     0     |     1     |     2     |
///     k-block       |0  1  2  3 |0  1  2  3 |0  1  2  3 |
///     thread block  |0  0  0  0 |0  0  1  1 |1  1  1  1 |
///     portion       |   whole   |     |     |   whole   |
///
/// A thread block computes portions: the end of a tile that others have begun, whole tiles, and the beginning
/// of a tile that others finish. A tile of several portions is shared; kit/stream_k_reduction.hpp adds it up.
///
/// - If there are at least two thread blocks for each tile, each tile gets the same number of them, and no
///   thread block has parts of two tiles: reducing twice takes longer than the work that idle thread blocks
///   would do.
/// - If there are more than two waves of tiles, only enough tiles are shared that one to two waves remain for
///   each thread block; the other tiles stay whole and come last.
/// - The two thread blocks of a cluster that share an operand compute the two tiles of a pair over the same
///   k-blocks: then "tile" means the pair, and "thread block" the cluster.
///
/// One thread computes the division and leaves it in shared memory. The others read it there again for each
/// portion, because registers are needed for accumulators.
///
/// Errors: none of its own. The functions throw as those of KernelBuilder do. Numbers of tiles, k-blocks and
/// thread blocks are known when the kernel runs, and are not checked: each is at least 1.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// The k-blocks of a tile that a thread block computes at a time.
struct StreamKPortion {
  Reg tile;   ///< its number, u32
  Reg begin;  ///< its first k-block, u32
  Reg end;    ///< the k-block after its last
  Reg whole;  ///< predicate: it has all k-blocks of the tile
};

/// A tile that several thread blocks share.
struct SharedTile {
  Reg tile;   ///< its number, u32
  Reg first;  ///< the thread block that begins it; the following ones continue
  Reg parts;  ///< number of thread blocks
};

/// The division of k-blocks among the thread blocks of the grid.
class StreamKDivision {
 public:
  static constexpr int kBytes = 32;  ///< of shared memory
  /// `shared`: the address of kBytes of shared memory, a multiple of 16.
  StreamKDivision(KernelBuilder& k, Reg shared) : k_(k), shared_(shared) {}

  /// Called by one thread before the others pass the thread block's barrier. There are `tiles` tiles of
  /// `k_blocks` k-blocks each, fewer than 2^31 in total; this is thread block `block` of `blocks`.
  void divide(Reg tiles, Reg k_blocks, Reg block, Reg blocks);
  /// A loop over the portions of this thread block.
  void for_each(const std::function<void(const StreamKPortion&)>& body);
  /// A loop over the tiles that it shares with others, two at most.
  void for_each_shared(const std::function<void(const SharedTile&)>& body);
  /// The thread blocks that share a tile that is not whole.
  SharedTile shared(Reg tile);

 private:
  /// In k-blocks, in the order of the fields in shared memory.
  struct Division {
    Reg begin, end;       // this thread block's share
    Reg whole_at, round;  // its first whole tile at the end, and the distance to the next
    Reg k_blocks;         // per tile
    Reg stride;           // between tiles that are shared alike; k-blocks between two tiles belong to nobody
    Reg all;              // in all tiles
    Reg share;            // per thread block
  };
  Division read();

  KernelBuilder& k_;
  Reg shared_;
};

}  // namespace kit
}  // namespace ptxloom
