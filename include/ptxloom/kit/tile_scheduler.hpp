// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "ptxloom/kit/stream_k_division.hpp"

/// \file
/// Which tiles of a matrix D of m x n elements, and which part of k, a thread block computes. The tiles are
/// numbered in bands of `raster` rows of tiles, column by column within a band, so that tiles that are
/// computed at the same time share tiles of A and B in the L2 cache. Here 3 x 4 tiles with raster 2:
///
///     |  0 |  2 |  4 |  6 |
///     |  1 |  3 |  5 |  7 |
///     |  8 |  9 | 10 | 11 |
///
/// - A grid with a thread block for each tile: thread block i computes tile i (own()).
/// - A persistent grid of G thread blocks: thread block i computes the tiles i, i + G, i + 2 G ...
/// (for_each).
/// - Batches, products of the same size, follow each other: the first tile of batch 1 comes after the last of
///   batch 0.
/// - `split` > 1: the thread blocks of a cluster compute the tile with the cluster's number, each over its
///   part of k.
/// - A pair: the two thread blocks of a cluster compute adjacent tiles, so that they can share the tiles of
/// an
///   operand. The pairs are numbered, as above.
/// - Groups: products of different sizes, which the kernel reads from memory. A tile, or a pair, that belongs
///   to no group is skipped.
/// - Stream-K: a thread block computes portions of tiles or pairs (kit/stream_k_division.hpp), which are
///   numbered in the same way.
///
/// Sizes and positions are in elements and u32. m, n and the number of tiles in all batches are below 2^31.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// Where the two tiles of a pair are: there is no pair; the second is below the first (they share B); the
/// second is right of the first (they share A).
enum class TilePair { none, below, beside };

/// How D is divided into tiles, when the kernel is made.
struct TileSchedule {
  int tile_m = 0;                  ///< rows of a thread block's tile
  int tile_n = 0;                  ///< its columns
  int tile_k = 0;                  ///< elements of a k-block
  TilePair pair = TilePair::none;  ///< with clusters of two thread blocks
  int split = 1;                   ///< thread blocks of a cluster that compute one tile, each a part of k
  int raster = 8;                  ///< rows of tiles, or pairs, in a band
  int in_flight = 1;               ///< consumer warpgroups of a thread block, each with its own tile
  /// The extents of D.
  struct Extents {
    std::uint32_t m = 0;  ///< rows
    std::uint32_t n = 0;  ///< columns
  };
  std::optional<Extents> known = {};  ///< if they are known: divisions by them become shorter

  int pair_m() const { return pair == TilePair::below ? 2 * tile_m : tile_m; }   ///< rows of a tile or pair
  int pair_n() const { return pair == TilePair::beside ? 2 * tile_n : tile_n; }  ///< its columns
  int sharing() const { return pair == TilePair::none ? 1 : 2; }  ///< thread blocks that share an operand
};

/// Groups of rows of D. If the kernel computes the transpose, they are groups of columns instead: then "row"
/// means column here.
struct TileGroups {
  /// `masked`: each batch has its own number of rows, an s32 in memory; rows from there on do not exist.
  /// `contiguous`: each run of `run` rows belongs to a batch, an s32 in memory; a run of no batch, whose
  /// number is not below that of batches, is skipped.
  enum class Kind { none, masked, contiguous };
  Kind kind = Kind::none;  ///< what they are
  Reg address = {};        ///< of the s32
  int run = 0;             ///< rows of a run; a multiple of the rows of a tile or pair
  bool columns = false;    ///< the groups are of columns of D
};

/// The sizes of a problem, in registers.
struct TileProblem {
  Reg m = {};                        ///< rows of D
  Reg n = {};                        ///< columns of D
  Reg k = {};                        ///< depth
  std::optional<Reg> batches = {};   ///< their number, if there can be several
  TileGroups groups = {};            ///< without batches: masked rows are those of the one product
  std::optional<Reg> division = {};  ///< stream-K: the address of StreamKDivision::kBytes of shared memory
};

/// The first row and column of a tile of D.
struct TileOrigin {
  Reg row;     ///< of D
  Reg column;  ///< of D
  Reg rows;    ///< that D has (with TileGroups::columns its columns), or those of the group
  std::optional<Reg> batch = {};  ///< its number, if there can be several
};

/// A part of k.
struct DepthPart {
  Reg begin;  ///< its first element
  Reg end;    ///< the element after its last
};

/// A unit of work of a thread block: a tile, over all of k or a part of it.
struct TilePortion {
  TileOrigin tile;                            ///< which tile
  DepthPart depth;                            ///< which part of k
  std::optional<StreamKPortion> stream = {};  ///< with stream-K: the same in k-blocks
};

/// The numbers of a thread block's tiles in a persistent grid.
struct TileNumbers {
  Reg first;  ///< the first one
  Reg step;   ///< from one to the next
  Reg end;    ///< all are below
};

/// Emits the order of the tiles.
class TileScheduler {
 public:
  /// All threads of the thread block call it, outside of any branch. Throws Error(usage, "bad-schedule") if
  /// the parts do not go together: a split beside a pair or stream-K; groups and stream-K; runs that a tile
  /// or pair does not divide; contiguous groups without a number of batches; extents that are no positive
  /// numbers.
  TileScheduler(KernelBuilder& k, const TileSchedule& schedule, const TileProblem& problem);
  /// With stream-K: called by one thread before the others pass the thread block's barrier.
  void divide();

  /// The tile of this thread block or cluster in a grid that is not persistent. Thread blocks whose tile
  /// belongs to no group exit.
  TileOrigin own();
  /// A loop over this thread block's tiles in a persistent grid: with a split its only tile, with stream-K
  /// its portions. `consumer` (u32): the number of the consumer warpgroup, if several have tiles of their own
  /// in flight (TileSchedule::in_flight); each has every in_flight-th tile, starting with its own number.
  void for_each(const std::function<void(const TilePortion&)>& body, std::optional<Reg> consumer = {});
  /// For code that walks the tiles of a persistent grid at its own pace: the numbers of its tiles, and a tile
  /// by its number. It skips no tiles of groups.
  ///@{
  TileNumbers numbers(std::optional<Reg> consumer = {});
  TileOrigin tile(Reg number) { return in_pair(origin(number)); }
  ///@}
  /// With stream-K: who shares a tile that is not whole.
  SharedTile shared(const TilePortion& portion) { return stream_->shared(portion.stream->tile); }
  /// With stream-K: a loop over the tiles that this thread block shares with others.
  void for_each_shared(const std::function<void(const TileOrigin&, const SharedTile&)>& body);
  /// This thread block's part of k: whole k-blocks, except in the last part.
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
  bool grouped() const { return groups_.kind != TileGroups::Kind::none; }
  bool of_batches() const { return batches_ && groups_.kind != TileGroups::Kind::contiguous; }

  KernelBuilder& k_;
  TileSchedule schedule_;
  std::optional<Reg> batches_;
  TileGroups groups_;
  std::optional<std::uint32_t> known_m_, known_n_;  // in tiles, or pairs of tiles
  Reg rows_;                                        // of D
  Reg depth_, tiles_m_, tiles_n_;
  Reg rank_;  // within such a pair
  std::optional<StreamKDivision> stream_;
};

}  // namespace kit
}  // namespace ptxloom
