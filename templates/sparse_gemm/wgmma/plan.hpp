// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/shared_layout.hpp"
#include "ptxloom/kit/tma_tile.hpp"
#include "ptxloom/kit/wgmma.hpp"
#include "sparse_gemm/config.hpp"

// How strategy wgmma divides the work and the shared memory of a thread block. The transpose is computed:
// rows of the product are columns of D, 64 for each instruction. A producer warp loads tiles of the values
// and of A by TMA; each consumer warpgroup has tile_n / warpgroups rows of the product. A chunk of k is two
// instructions deep: one tile of metadata, two for elements of 8 bits.
namespace ptxloom::sparse_gemm::wgmma {

inline constexpr int kRows = 64;  // of an instruction
using kit::kWarpgroupThreads;

inline int warpgroups(const Config& c) { return c.warps_n / 4; }
inline int threads(const Config& c) { return kWarpgroupThreads * warpgroups(c) + 32; }
/// Instructions of a warpgroup, one below the other.
inline int row_tiles(const Config& c) { return c.tile_n / kRows / warpgroups(c); }
/// Elements of k of a chunk, and the tiles of metadata that these are.
///@{
inline int chunk_depth(const Problem& p) { return 2 * instruction_depth(p); }
inline int chunk_units(const Problem& p) { return chunk_depth(p) / p.layout().tile_depth(); }
///@}
inline int chunks(const Problem& p, const Config& c) { return c.tile_k / chunk_depth(p); }

/// The instruction for tiles of this many rows of D, if the target has it: A is in shared memory.
std::optional<Variant> find_mma(const Specs& specs, const Target& target, const Problem& problem, int tile_m);

/// Follows from the problem and the configuration.
struct Plan {
  Plan(const TargetInfo& chip, const Problem& problem, const Config& config);

  kit::TmaTile values, activations;
  kit::SharedLayout stage;   ///< parts values, activations
  int stage_bytes = 0;       ///< from one stage to the next
  kit::SharedLayout shared;  ///< parts stages, barriers
  int shared_bytes = 0;
  int registers = 0;  ///< of a consumer thread, roughly
  int blocks_per_sm = 1;

  static kit::Params params(const Plan& plan, const Problem& problem);
};

}  // namespace ptxloom::sparse_gemm::wgmma
