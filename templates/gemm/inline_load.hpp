// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pack.hpp"
#include "tma_load.hpp"

// The producer without a warp of its own: a thread of the first warp that multiplies. Before the first step
// of k it fills all stages but one, and then, in each step, while the products of that are under way, the one
// that was read in the step before. So it is always as many steps ahead, in the next tile too where the block
// has one, and how far it is stands in registers: a tile's number, and how deep in it.
namespace ptxloom::gemm_kernel {

class InlineLoads {
 public:
  /// `warp`: of this thread; `depth`: of the problem.
  InlineLoads(KernelBuilder& k, const Config& config, TileScheduler& tiles, const StageLoads& loads, Reg warp,
              Reg depth);

  /// Each by all threads of the first warp at once.
  void start(std::optional<Packing>& packing);
  /// In each step: the next stage, if there is still something to load.
  void next();
  void finish();

 private:
  KernelBuilder& k_;
  const Config& c_;
  TileScheduler& tiles_;
  StageLoads loads_;
  Reg depth_;
  Reg chosen_;  // predicate: this is the thread
  TileNumbers numbers_;
  Reg number_, at_;  // of the tile that is being loaded; how far into k
  TileOrigin tile_;
};

}  // namespace ptxloom::gemm_kernel
