// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/config.hpp"
#include "ptxloom/kit/stream_k_reduction.hpp"

// Stream-K as a problem and a configuration have it: whether it may pay, how k-blocks are divided, and the
// workspace for the reduction (kit/stream_k_reduction.hpp).
namespace ptxloom::gemm_kernel {

/// The accumulators of a thread block's tile.
kit::StreamKTile stream_tile(const Problem& problem, const Config& config);
/// The granularity in which tiles are sliced.
inline kit::StreamKUnits stream_units(const Problem& problem, const Config& config) {
  return kit::StreamKUnits(stream_tile(problem, config));
}

/// The grid and the workspace: one thread block per SM of the chip's largest product, at most.
struct StreamPlan {
  /// The workspace starts after the first `at` bytes.
  StreamPlan(const TargetInfo& chip, const Problem& problem, const Config& config, std::uint64_t at);

  std::uint32_t blocks = 0;  ///< of the grid, at most; whole clusters
  kit::StreamKWorkspace workspace;
  kit::StreamKReads reads;  ///< in a slice
};

/// Whether stream-K may pay: fewer tiles than SMs, and a deep k.
bool may_stream_k(const TargetInfo& chip, const Problem& problem);
/// The k-blocks of all tiles.
double stream_k_blocks(const Problem& problem, const Config& config);
/// How k-blocks are divided (kit/stream_k_division.hpp) on a chip with this many SMs.
struct StreamShare {
  StreamShare(const StreamPlan& plan, const Problem& problem, const Config& config, double sms);

  double blocks;    ///< thread blocks that have a share
  double parts;     ///< per tile; below 2, tiles are divided anywhere
  double k_blocks;  ///< k-blocks per thread block
};
/// The most shared memory that a slice of a tile takes.
int stream_slice_bytes(const Problem& problem, const Config& config);

}  // namespace ptxloom::gemm_kernel
