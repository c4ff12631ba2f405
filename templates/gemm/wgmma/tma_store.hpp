// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/wgmma/plan.hpp"
#include "ptxloom/kit/tile_result.hpp"

// The epilogue that stores D through shared memory. A warpgroup writes its part box by box into one of its
// buffers (with stmatrix for 16-bit types), in TMA's swizzle, and one thread issues the TMA store, which
// clips what lies outside D. Meanwhile the next box or tile is computed. If D's rows do not meet TMA's
// alignment, the warpgroup copies the box itself, row by row.
namespace ptxloom::gemm_kernel::wgmma {

struct StoreInputs {
  Reg map;                        ///< generic address of D's tensor map, if TMA stores D
  Reg buffers;                    ///< shared address of the warpgroup's buffers
  Reg barrier;                    ///< number of the warpgroup's named barrier
  Reg thread;                     ///< of the thread block
  Reg leads;                      ///< predicate: this thread issues the TMA stores
  Reg row, column;                ///< of the warpgroup's part of D
  std::optional<Reg> batch = {};  ///< if the tensor map has a batch dimension
  std::optional<Reg> rows = {};   ///< boxes that start after these rows are skipped; others are stored whole
};

void emit_tma_stores(KernelBuilder& k, const Config& config, const Plan& plan,
                     const kit::TileResultInputs& result, const StoreInputs& in);
/// Waits for all TMA stores, before the kernel ends.
void await_tma_stores(KernelBuilder& k, const StoreInputs& in);

}  // namespace ptxloom::gemm_kernel::wgmma
