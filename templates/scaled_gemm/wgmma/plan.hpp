// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "ptxloom/kit/cluster_reduction.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/shared_layout.hpp"
#include "ptxloom/kit/tma_tile.hpp"
#include "ptxloom/kit/wgmma.hpp"
#include "scaled_gemm/config.hpp"
#include "scaled_gemm/wgmma/stream.hpp"

// How strategy wgmma divides the work and the shared memory of a thread block. The transpose is computed,
// D^T = B^T A^T: rows of the product are columns of D, 64 of them for each instruction, and its columns are
// the rows of D. A producer warp loads; each consumer warpgroup has tile_n / warpgroups rows of the product.
// A stage has a k-block of the activations as TMA writes it, and of the weights and their scales as they lie
// in memory.
namespace ptxloom::scaled_gemm::wgmma {

inline constexpr int kRows = 64;  // of an instruction, and of a tile of the weight layout
using kit::kWarpgroupThreads;
inline constexpr int kStoreRows = 64, kStoreBuffers = 2;  // rows of D in a box, and boxes of each warpgroup

inline int warpgroups(const Config& c) { return c.warps_n / 4; }
inline int consumer_threads(const Config& c) { return kWarpgroupThreads * warpgroups(c); }
inline int threads(const Config& c) { return consumer_threads(c) + 32; }
inline int row_tiles(const Config& c) { return c.tile_n / kRows; }  ///< of a thread block
inline int row_tiles_of_warpgroup(const Config& c) { return row_tiles(c) / warpgroups(c); }

/// Instructions along k whose fragments are made at once, a chunk of a k-block: two, or one where registers
/// are few. A k-block has an even number of chunks.
int chunk_steps(const Problem& problem, const Config& config);

/// The instruction for tiles of this many rows of D.
std::string opcode(const Problem& problem, int tile_m);

/// Whether a box at the end of a product's rows may have rows that are not its own, but of the next batch or
/// of no token.
bool shares_boxes(const Problem& problem);

/// Whether results go through shared memory to TMA stores: in large tiles of 16-bit results, whose rows TMA
/// takes. Of tiles with rows that must not be written, threads store the others.
bool staged(const Problem& problem, const Config& config);

/// Follows from the problem and the configuration.
struct Plan {
  Plan(const TargetInfo& chip, const Problem& problem, const Config& config);

  kit::TmaTile activations;
  int weight_bytes = 0;      ///< of a row tile in a stage
  int scale_groups = 0;      ///< of a row tile in a stage
  int scale_bytes = 0;       ///< of a row tile in a stage
  int zero_bytes = 0;        ///< of a row tile in a stage: of its zero points
  kit::SharedLayout stage;   ///< parts activations, weights, scales, zeros
  int stage_bytes = 0;       ///< from one stage to the next
  kit::TmaBox store;         ///< of D
  kit::SharedLayout shared;  ///< parts stages, stores, table, barriers and, with stream-K, division
  int shared_bytes = 0;
  kit::ClusterTile reduction;  ///< of split thread blocks
  int registers = 0;           ///< of a consumer thread, roughly
  int blocks_per_sm = 1;
  std::optional<StreamPlan> stream;  ///< with stream-K

  int bytes_of_stage() const;  ///< that a stage expects
  kit::Params params(const Problem& problem, const Config& config) const;
};

/// Thread blocks of the grid.
std::uint64_t grid(const Problem& problem, const Config& config);

}  // namespace ptxloom::scaled_gemm::wgmma
