// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "batch.hpp"
#include "stream_division.hpp"

// Which tile of D comes when. Tiles are numbered in bands of `raster` rows of tiles, down a band's columns
// one after the other, so that what runs at the same time shares tiles of A and of B in L2. A block computes
// the tile of its own number, or, where the grid is persistent, every tile whose number is that plus a
// multiple of the grid; where the blocks of a cluster split k, they compute the tile of the cluster's number,
// each over its part. Where two blocks of a cluster share an operand their tiles are neighbours, and pairs of
// tiles are numbered. Batches come one after the other. A tile that is of no group is skipped, or a pair of
// such: behind the rows of its group, or of rows that have no B. With stream-K a block computes portions of
// tiles, or of pairs (stream_division.hpp), whose numbers are the same.
namespace ptxloom::gemm_kernel {

/// The first row and column of a tile of D, with `swap` of D's transpose.
struct TileOrigin {
  Reg row, column;
  Reg rows;                       ///< that D has: m of the problem, or those of the group
  std::optional<Reg> batch = {};  ///< where there may be several
};

/// Where a block's part of k begins and ends.
struct DepthPart {
  Reg begin, end;
};

/// What a block computes at one go: a part of k of a tile, or all of it.
struct Portion {
  TileOrigin tile;
  DepthPart depth;
  std::optional<StreamPortion> stream = {};
};

/// The numbers of a block's tiles in a persistent grid: from the first on, so far apart, below `end`.
struct TileNumbers {
  Reg first, step, end;
};

class TileScheduler {
 public:
  /// `m`, `n`, `depth`: of the problem as the configuration sees it, in registers. `division`: shared memory
  /// for stream-K's.
  TileScheduler(KernelBuilder& k, const Problem& problem, const Config& config, Reg m, Reg n, Reg depth,
                const BatchInputs& batches, std::optional<Reg> division = {});
  /// With stream-K: by one thread, before the others pass the block's barrier.
  void divide();

  /// The tile of this block, or of its cluster, in a grid that is not persistent; a block that has none ends.
  TileOrigin own();
  /// A loop over the tiles of this block in a persistent grid; with `split` its one tile, with stream-K its
  /// portions. Warpgroups that take turns each have every other tile, from the one of their number on.
  void for_each(const std::function<void(const Portion&)>& body, std::optional<Reg> turn = {});
  /// For who walks a persistent grid's tiles at a pace of its own; groups skip none there.
  TileNumbers numbers(std::optional<Reg> turn = {});
  TileOrigin tile(Reg number) { return in_pair(origin(number)); }
  /// With stream-K: who shares a tile, and a loop over those that this block shares.
  SharedTile shared(const Portion& portion) { return stream_->shared(portion.stream->tile); }
  void for_each_shared(const std::function<void(const TileOrigin&, const SharedTile&)>& body);
  /// This block's part of `depth`: whole tiles of k, but for the last part.
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
  std::optional<std::uint32_t> known_m_, known_n_;  // tiles, or pairs of them, where sizes are baked in
  Reg rows_;                                        // of D
  Reg depth_, tiles_m_, tiles_n_;
  Reg rank_;  // in such a pair
  std::optional<StreamDivision> stream_;
};

}  // namespace ptxloom::gemm_kernel
