// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/config.hpp"
#include "ptxloom/kit/wgmma.hpp"

// How a thread block's tiles are divided among its consumer warpgroups: four warps along m are one.
namespace ptxloom::gemm_kernel::wgmma {

using kit::kWarpgroupThreads;
inline constexpr int kWarpsOfWarpgroup = kWarpgroupThreads / 32;

inline int warpgroups_m(const Config& c) { return c.warps_m / kWarpsOfWarpgroup; }
inline int tile_warpgroups(const Config& c) { return warpgroups_m(c) * c.warps_n; }  ///< of one tile
inline int warpgroups(const Config& c) { return tile_warpgroups(c) * c.tiles_in_flight(); }
inline int warpgroup_m(const Config& c) {
  return c.tile_m / warpgroups_m(c);
}  ///< rows of its part of a tile
inline int warpgroup_n(const Config& c) { return c.warp_n(); }  ///< columns of it

}  // namespace ptxloom::gemm_kernel::wgmma
