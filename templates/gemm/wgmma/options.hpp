// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ptxloom::gemm_kernel::wgmma {

/// The operand that the two thread blocks of a cluster share and load for each other.
enum class Multicast { none, a, b };
/// How warpgroups divide tiles of D: all compute one tile, or each its own, in alternation.
enum class Schedule { cooperative, pingpong };
/// Who issues TMA loads: a producer warp, or a thread of a consumer warp.
enum class Loads { warp, thread };

/// What strategy wgmma adds to a configuration.
struct Options {
  Multicast multicast = Multicast::none;
  Schedule schedule = Schedule::cooperative;
  Loads loads = Loads::warp;
  bool every_width = false;  ///< N is any multiple of 8; else 8, 24 or a multiple of 16

  bool producer_warp() const { return loads == Loads::warp; }
};

}  // namespace ptxloom::gemm_kernel::wgmma
