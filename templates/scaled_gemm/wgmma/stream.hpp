// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ptxloom/kit/stream_k_reduction.hpp"
#include "ptxloom/target.hpp"
#include "scaled_gemm/config.hpp"

// Stream-K of strategy wgmma: how many thread blocks share the k-blocks of all tiles, and the workspace in
// which they add up tiles (kit/stream_k_division.hpp, kit/stream_k_reduction.hpp).
namespace ptxloom::scaled_gemm::wgmma {

/// The accumulators of a thread block.
kit::StreamKTile stream_tile(const Config& config);
/// Tiles of all batches, and their k-blocks.
///@{
double stream_tiles(const Problem& problem, const Config& config);
double stream_k_blocks(const Problem& problem, const Config& config);
///@}

struct StreamPlan {
  StreamPlan(const TargetInfo& chip, const Problem& problem, const Config& config);

  std::uint32_t blocks;  ///< of the grid
  kit::StreamKWorkspace workspace;
  kit::StreamKReads reads;
  double parts;     ///< thread blocks for a tile; below 1: a thread block has parts of several tiles
  double k_blocks;  ///< of a thread block
};

}  // namespace ptxloom::scaled_gemm::wgmma
