// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/sync/pipeline.hpp"
#include "gemm/wgmma/mainloop/staged_scales.hpp"
#include "ptxloom/kit/tile_scheduler.hpp"

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
  StageLoads(KernelBuilder& k, const Config& config, const Plan& plan, Pipeline& pipeline,
             const LoadInputs& in);

  /// Fills the next stage with a tile's part of A and B from `depth` on.
  void fill(const kit::TileOrigin& tile, Reg depth);
  /// Call after the last stage; returns when no other thread block accesses this one's shared memory.
  void finish();

 private:
  struct OperandLoad {
    const OperandTile& tile;
    Reg map;
    Reg extent;   ///< where the tile starts along m or n
    bool passes;  ///< streamed through L2, which need not keep it
    std::optional<Reg> batch;
  };
  void copy(const OperandLoad& copy, Reg depth, Reg to, Reg barrier);

  KernelBuilder& k_;
  const Config& c_;
  const Plan& plan_;
  Pipeline& pipeline_;
  LoadInputs in_;
  Pipeline::Cursor cursor_;
  Reg passing_;      // cache policy
  Reg rank_, both_;  // of thread blocks that share an operand
};

/// Run by a dedicated thread: loads all tiles of this thread block, or its portions of them.
void emit_loads(KernelBuilder& k, const Config& config, kit::TileScheduler& tiles, StageLoads& loads);

}  // namespace ptxloom::gemm_kernel::wgmma
