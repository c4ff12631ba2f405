// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "config.hpp"
#include "ptxloom/builder.hpp"

// Which tile of D comes when. Tiles are numbered in bands of `raster` rows of tiles, down a band's columns
// one after the other, so that what runs at the same time shares tiles of A and of B in L2. A block computes
// the tile of its own number, or, where the grid is persistent, every tile whose number is that plus a
// multiple of the grid; where the blocks of a cluster split k, they compute the tile of the cluster's number,
// each over its part. Where two blocks of a cluster share an operand their tiles are neighbours, and pairs of
// tiles are numbered.
namespace ptxloom::gemm_kernel {

/// The first row and column of a tile of D.
struct TileOrigin {
  Reg row, column;
};

/// Where a block's part of k begins and ends.
struct DepthPart {
  Reg begin, end;
};

class TileScheduler {
 public:
  /// `m`, `n`: of the problem, in registers.
  TileScheduler(KernelBuilder& k, const Problem& problem, const Config& config, Reg m, Reg n);

  /// The tile of this block, or of its cluster, in a grid that is not persistent.
  TileOrigin own();
  /// A loop over the tiles of this block in a persistent grid; with `split` its one tile.
  void for_each(const std::function<void(const TileOrigin&)>& body);
  /// Of `depth`: whole tiles of k, but for the last part.
  DepthPart part(Reg depth);

 private:
  TileOrigin origin(Reg number);
  Reg column_in_band(Reg number, Reg band, Reg rows);

  KernelBuilder& k_;
  const Config& c_;
  std::optional<std::uint32_t> known_m_, known_n_;  // tiles, or pairs of them, where sizes are baked in
  Reg tiles_m_, tiles_n_;
  Reg rank_;  // in such a pair
};

}  // namespace ptxloom::gemm_kernel
