// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/kit/accumulators.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/tile_scheduler.hpp"
#include "sparse_gemm/problem.hpp"

// The epilogue, which the strategies share: D from accumulators of its transpose, with bias and C.
namespace ptxloom::sparse_gemm {

/// Adds bias, c, ldc, d and ldd, where the problem has them.
void add_result_params(kit::Params& params, const Problem& problem);

/// The accumulators of a warp, and where they are in the thread block's tile of the transpose (u32).
struct TransposedPart {
  Variant mma;
  int rows, columns;  ///< from one instruction to the next
  kit::Accumulators accumulators;
  Reg row, column, lane;
};

/// Stores what a warp has. `in`: has m, n and what add_result_params() adds.
void store_transposed(KernelBuilder& k, const Problem& problem, const kit::ParamRegs& in,
                      const kit::TileOrigin& tile, const TransposedPart& part);

}  // namespace ptxloom::sparse_gemm
