// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline.hpp"
#include "scheduler.hpp"
#include "staged_scales.hpp"

// The producer: one thread that walks this block's tiles, or its portions of them, and fills the pipeline's
// stages with tensor copies of A, B and scales of blocks, as soon as the readers have released them. What
// lies outside of the matrices arrives as zeros. What two blocks of a cluster share each loads a half of, for
// both.
namespace ptxloom::gemm_kernel {

struct LoadInputs {
  Reg a, b;    ///< generic addresses of their tensor maps
  Reg stages;  ///< shared address of stage 0
  ScaleCopies& scales;
};

void emit_loads(KernelBuilder& k, const Config& config, const WgmmaPlan& plan, TileScheduler& tiles,
                Pipeline& pipeline, const LoadInputs& in);

}  // namespace ptxloom::gemm_kernel
