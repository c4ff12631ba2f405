// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "result.hpp"

// D = alpha * accumulators + beta * C. Direct: every lane stores its own elements, neighbours in a row
// together. Staged: 16-bit results go through shared memory (stmatrix where the target has it) and leave in
// whole rows.
namespace ptxloom::gemm_kernel {

void emit_epilogue(KernelBuilder& k, const Problem& problem, const Config& config, const EpilogueInputs& in);

}  // namespace ptxloom::gemm_kernel
