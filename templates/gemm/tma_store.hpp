// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "result.hpp"
#include "wgmma_plan.hpp"

// The epilogue that stores D through shared memory: a warpgroup puts box after box of its part into one of
// its buffers (stmatrix for 16-bit types), swizzled as tensor copies read it, and one thread starts such a
// copy, which leaves out what lies outside of D. While it runs the next box, or the next tile, is under way.
// Where D's rows are none that tensor copies take, the warpgroup copies the box itself, row by row.
namespace ptxloom::gemm_kernel {

struct StoreInputs {
  Reg map;                        ///< generic address of D's tensor map, where tensor copies store
  Reg buffers;                    ///< shared address of the warpgroup's buffers
  Reg barrier;                    ///< number of the warpgroup's named barrier
  Reg leads;                      ///< predicate: this thread starts the copies
  Reg row, column;                ///< of the warpgroup's part in D
  std::optional<Reg> batch = {};  ///< that the tensor map has a dimension of
  std::optional<Reg> rows = {};   ///< a box that begins behind them is left out; others are stored whole
};

void emit_tensor_stores(KernelBuilder& k, const Problem& problem, const Config& config, const WgmmaPlan& plan,
                        const EpilogueInputs& result, const StoreInputs& in);
/// Waits for all of them, before the kernel ends.
void await_tensor_stores(KernelBuilder& k, const StoreInputs& in);

}  // namespace ptxloom::gemm_kernel
