// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/wgmma/mainloop/staged_scales.hpp"
#include "ptxloom/kit/pipeline.hpp"
#include "ptxloom/kit/tile_scheduler.hpp"
#include "ptxloom/kit/tma_tile.hpp"

// The producer: one thread that fills the pipeline's stages by TMA loads of A, B and block scales as soon as
// the consumers have released them. Elements outside the matrices arrive as zeros. If two thread blocks of a
// cluster share an operand, each loads one half for both.
namespace ptxloom::gemm_kernel::wgmma {

struct LoadInputs {
  Reg a, b;    ///< generic addresses of their tensor maps
  Reg stages;  ///< shared address of stage 0
  ScaleLoads scales;
};

class StageLoads {
 public:
  StageLoads(KernelBuilder& k, const Config& config, const Plan& plan, kit::Pipeline& pipeline,
             const LoadInputs& in);

  /// Fills the next stage with a tile's part of A and B from `depth` on.
  void fill(const kit::TileOrigin& tile, Reg depth);
  /// Call after the last stage; returns when no other thread block accesses this one's shared memory.
  void finish();

 private:
  KernelBuilder& k_;
  const Config& c_;
  const Plan& plan_;
  kit::Pipeline& pipeline_;
  LoadInputs in_;
  kit::Pipeline::Cursor cursor_;
  std::optional<Reg> passing_;  // cache policy
  kit::TmaTileLoads tiles_;
};

/// Run by a dedicated thread: loads all tiles of this thread block, or its portions of them.
void emit_loads(KernelBuilder& k, const Config& config, kit::TileScheduler& tiles, StageLoads& loads);

}  // namespace ptxloom::gemm_kernel::wgmma
