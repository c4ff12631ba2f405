// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/config.hpp"
#include "ptxloom/kit/tile_result.hpp"

// D = alpha * accumulators + beta * C. Direct: every lane stores its own elements, adjacent ones of a row
// together. Staged: 16-bit results go through shared memory (by stmatrix if the target has it) and are stored
// as whole rows.
namespace ptxloom::gemm_kernel::mma_sync {

/// What the staged epilogue needs besides: u32 registers.
struct StagingInputs {
  Reg shared;  ///< address of the thread block's shared memory
  Reg thread;
};
void emit_epilogue(KernelBuilder& k, const Config& config, const kit::TileResultInputs& in,
                   const StagingInputs& staging);

}  // namespace ptxloom::gemm_kernel::mma_sync
