// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "ptxloom/builder.hpp"

// Stream-K: the k-blocks of all tiles, one tile after another, form a sequence that the thread blocks of the
// grid share evenly. A thread block computes the end of a tile that others have begun, whole tiles, and the
// beginning of a tile that others finish. If there are at least two thread blocks per tile, each tile gets
// the same number, and no thread block has parts of two tiles: reducing twice takes longer than the work that
// idle thread blocks would do. If there are more than two waves of tiles, only enough tiles are shared that
// one to two waves remain for each thread block; the other tiles stay whole and come last. The two thread
// blocks of a cluster that share an operand compute the two tiles of a pair over the same k-blocks: here
// "tile" then means the pair and "block" the cluster. One thread computes the division and leaves it in
// shared memory, where the others read it again for each portion, because registers are needed for
// accumulators.
namespace ptxloom::gemm_kernel {

/// The k-blocks of a tile that a thread block computes at a time.
struct StreamPortion {
  Reg tile;
  Reg begin, end;  ///< k-blocks
  Reg whole;       ///< predicate: all k-blocks of the tile
};

/// A tile that several thread blocks share.
struct SharedTile {
  Reg tile;
  Reg first;  ///< the thread block that begins it; the following ones continue
  Reg parts;  ///< number of thread blocks
};

class StreamDivision {
 public:
  static constexpr int kBytes = 32;
  /// `shared`: kBytes of shared memory, 16-byte aligned.
  StreamDivision(KernelBuilder& k, Reg shared) : k_(k), shared_(shared) {}

  /// Called by one thread before the others pass the thread block's barrier. There are `tiles` tiles of
  /// `k_blocks` k-blocks each, fewer than 2^31 in total; this is `block` of `blocks`.
  void divide(Reg tiles, Reg k_blocks, Reg block, Reg blocks);
  /// A loop over this thread block's portions.
  void for_each(const std::function<void(const StreamPortion&)>& body);
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

}  // namespace ptxloom::gemm_kernel
