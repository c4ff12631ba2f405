// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "fragments.hpp"

// D = alpha * accumulators + beta * C. Direct: every lane stores its own elements, neighbours in a row
// together. Staged: 16-bit results go through shared memory (stmatrix where the target has it) and leave in
// whole rows.
namespace ptxloom::gemm_kernel {

/// C or D of this block, in registers.
struct ResultSource {
  Reg pointer;
  Reg ld;  ///< elements, u32
};

struct EpilogueInputs {
  std::vector<std::vector<std::vector<Reg>>> accumulators;  ///< [tile along m][tile along n][register]
  Order row_order, column_order;
  Reg m, n;                     ///< of the problem
  Reg block_row, block_column;  ///< origin of the block's tile
  Reg warp_row, warp_column;    ///< origin of the warp's part in it
  Reg lane, thread;
  Reg alpha, beta;    ///< of the accumulator's type
  ResultSource c, d;  ///< beta and c only where the problem reads C
  Reg shared;         ///< address of the block's shared memory
};

void emit_epilogue(KernelBuilder& k, const Problem& problem, const Config& config, const EpilogueInputs& in);

}  // namespace ptxloom::gemm_kernel
