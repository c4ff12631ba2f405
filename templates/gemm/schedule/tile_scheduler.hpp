// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "gemm/config/config.hpp"
#include "gemm/launch/batch.hpp"
#include "gemm/schedule/stream_k_division.hpp"

// The order of the tiles of D. Tiles are numbered in bands of `raster` rows of tiles, column by column within
// a band, so that tiles computed at the same time share tiles of A and B in L2. A thread block computes the
// tile with its own number or, in a persistent grid, every tile whose number is that plus a multiple of the
// grid size. If the thread blocks of a cluster split k, they compute the tile with the cluster's number, each
// over its part of k. If two thread blocks of a cluster share an operand, their tiles are adjacent, and pairs
// of tiles are numbered. Batches follow each other. A tile, or a pair, that belongs to no group is skipped:
// it lies after the rows of its group, or in rows that have no B. With stream-K a thread block computes
// portions of tiles or pairs (schedule/stream_k_division.hpp), which are numbered in the same way.
namespace ptxloom::gemm_kernel {

/// The first row and column of a tile of D, or with `swap` of its transpose.
struct TileOrigin {
  Reg row, column;
  Reg rows;                       ///< that D has: the problem's m, or the rows of the group
  std::optional<Reg> batch = {};  ///< if there can be several
};

/// The start and end of a thread block's part of k.
struct DepthPart {
  Reg begin, end;
};

/// A unit of work of a thread block: a tile, over all of k or a part of it.
struct Portion {
  TileOrigin tile;
  DepthPart depth;
  std::optional<StreamPortion> stream = {};
};

/// The numbers of a thread block's tiles in a persistent grid: from `first`, with this stride, below `end`.
struct TileNumbers {
  Reg first, step, end;
};

class TileScheduler {
 public:
  /// `m`, `n`, `depth`: of the problem as the configuration sees it, in registers. `division`: shared memory
  /// for the division of stream-K.
  TileScheduler(KernelBuilder& k, const Problem& problem, const Config& config, Reg m, Reg n, Reg depth,
                const BatchInputs& batches, std::optional<Reg> division = {});
  /// With stream-K: called by one thread before the others pass the thread block's barrier.
  void divide();

  /// The tile of this thread block or cluster in a grid that is not persistent; thread blocks without a tile
  /// exit.
  TileOrigin own();
  /// A loop over this thread block's tiles in a persistent grid: with `split` its only tile, with stream-K
  /// its portions. Under the pingpong schedule each warpgroup has every other tile, starting with its own
  /// number.
  void for_each(const std::function<void(const Portion&)>& body, std::optional<Reg> turn = {});
  /// For code that walks the tiles of a persistent grid at its own pace; it skips no tiles of groups.
  TileNumbers numbers(std::optional<Reg> turn = {});
  TileOrigin tile(Reg number) { return in_pair(origin(number)); }
  /// With stream-K: who shares a tile, and a loop over the shared tiles of this thread block.
  SharedTile shared(const Portion& portion) { return stream_->shared(portion.stream->tile); }
  void for_each_shared(const std::function<void(const TileOrigin&, const SharedTile&)>& body);
  /// This thread block's part of `depth`: whole k-blocks, except in the last part.
  DepthPart part();

 private:
  Reg own_number();
  Reg of_clusters(const char* blocks);
  TileOrigin origin(Reg number);
  TileOrigin in_pair(TileOrigin pair);
  Reg enter_group(TileOrigin& pair);
  void visit(Reg number, const std::function<void(const TileOrigin&)>& body);
  Reg column_in_band(Reg number, Reg band, Reg rows);
  Arg tiles_of_batch();
  Reg all_tiles();
  bool of_batches() const { return batches_.count && batches_.kind != GemmGroups::contiguous; }

  KernelBuilder& k_;
  const Config& c_;
  const BatchInputs& batches_;
  std::optional<std::uint32_t> known_m_, known_n_;  // in tiles, or pairs of tiles, if sizes are baked in
  Reg rows_;                                        // of D
  Reg depth_, tiles_m_, tiles_n_;
  Reg rank_;  // within such a pair
  std::optional<StreamDivision> stream_;
};

}  // namespace ptxloom::gemm_kernel
