// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/epilogue/result.hpp"

// D = alpha * accumulators + beta * C. Direct: every lane stores its own elements, adjacent ones of a row
// together. Staged: 16-bit results go through shared memory (by stmatrix if the target has it) and are stored
// as whole rows.
namespace ptxloom::gemm_kernel::mma_sync {

void emit_epilogue(KernelBuilder& k, const Problem& problem, const Config& config, const EpilogueInputs& in);

}  // namespace ptxloom::gemm_kernel::mma_sync
