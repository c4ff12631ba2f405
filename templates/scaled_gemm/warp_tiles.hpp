// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ptxloom/kit/accumulators.hpp"
#include "scaled_gemm/config.hpp"
#include "scaled_gemm/epilogue/results.hpp"

// What strategies have in common whose warps divide a tile of D in both directions and multiply by mma.sync:
// A and B are both in shared memory, in rows along k.
namespace ptxloom::scaled_gemm {

inline constexpr int kMostThreadRegisters = 255;  // on every target

inline int tile_threads(const Config& c) { return 32 * c.warps_m * c.warps_n; }
inline int warp_m(const Config& c) { return c.tile_m / c.warps_m; }
inline int warp_n(const Config& c) { return c.tile_n / c.warps_n; }
/// The parameters of the kernel.
kit::Params plain_params(const Problem& problem);
/// Thread blocks of the grid.
std::uint64_t tile_grid(const Problem& problem, const Config& config);

/// Rules of all of them.
std::vector<Rule> warp_tile_rules(const std::string& strategy);

/// The accumulators of a warp, or of a warpgroup, and where they begin, u32.
struct WarpPart {
  Variant mma;
  kit::Accumulators accumulators;
  Reg row, column;  ///< of the product, A times B
  Reg lane;         ///< of the warp, or the thread of the warpgroup
};
/// Computes results and stores them to D. `in`: has n, d and ldd.
void store_warp_part(KernelBuilder& k, const Problem& problem, const kit::ParamRegs& in,
                     const kit::TileOrigin& tile, const WarpPart& part);

}  // namespace ptxloom::scaled_gemm
