// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline.hpp"
#include "scheduler.hpp"
#include "staged_scales.hpp"

// The producer: one thread that fills the pipeline's stages with tensor copies of A, B and scales of blocks,
// as soon as the readers have released them. What lies outside of the matrices arrives as zeros. What two
// blocks of a cluster share each loads a half of, for both.
namespace ptxloom::gemm_kernel {

struct LoadInputs {
  Reg a, b;    ///< generic addresses of their tensor maps
  Reg stages;  ///< shared address of stage 0
  ScaleCopies scales;
};

class StageLoads {
 public:
  StageLoads(KernelBuilder& k, const Config& config, const WgmmaPlan& plan, Pipeline& pipeline,
             const LoadInputs& in);

  /// The next stage, with a tile's part of A and B from `depth` on.
  void fill(const TileOrigin& tile, Reg depth);
  /// Behind the last one: returns when this block's memory is its own again.
  void finish();

 private:
  struct TileCopy {
    const OperandTile& tile;
    Reg map;
    Reg extent;   ///< where the tile begins along m or n
    bool passes;  ///< through L2, which need not keep it
    std::optional<Reg> batch;
  };
  void copy(const TileCopy& copy, Reg depth, Reg to, Reg barrier);

  KernelBuilder& k_;
  const Config& c_;
  const WgmmaPlan& plan_;
  Pipeline& pipeline_;
  LoadInputs in_;
  Pipeline::Cursor cursor_;
  Reg passing_;      // cache policy
  Reg rank_, both_;  // of blocks that share an operand
};

/// By one thread that does nothing else: all of this block's tiles, or of its portions of them.
void emit_loads(KernelBuilder& k, const Config& config, TileScheduler& tiles, StageLoads& loads);

}  // namespace ptxloom::gemm_kernel
