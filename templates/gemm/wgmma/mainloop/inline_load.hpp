// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/wgmma/mainloop/tma_load.hpp"
#include "ptxloom/kit/packing.hpp"

// The producer without a warp of its own: a thread of the first consumer warp. Before the first k-block it
// fills all stages but one; then, in each iteration, while the products are in flight, it refills the stage
// that the previous iteration read. So it is always the same number of k-blocks ahead, across tiles too. Its
// position is held in registers: the tile's number and the offset along k.
namespace ptxloom::gemm_kernel::wgmma {

class InlineLoads {
 public:
  /// `warp`: this thread's warp; `depth`: the problem's k.
  InlineLoads(KernelBuilder& k, const Config& config, kit::TileScheduler& tiles, const StageLoads& loads,
              Reg warp, Reg depth);

  /// Both are called by all threads of the first warp together.
  void start(std::optional<kit::Packing>& packing);
  /// Once per k-block: loads the next stage, if anything is left to load.
  void next();
  void finish();

 private:
  KernelBuilder& k_;
  const Config& c_;
  kit::TileScheduler& tiles_;
  StageLoads loads_;
  Reg depth_;
  Reg chosen_;  // predicate: this thread issues the loads
  kit::TileNumbers numbers_;
  Reg number_, at_;  // tile being loaded; offset along k
  kit::TileOrigin tile_;
};

}  // namespace ptxloom::gemm_kernel::wgmma
