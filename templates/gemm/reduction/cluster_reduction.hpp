// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "gemm/epilogue/result.hpp"

// Reduction across a cluster whose thread blocks compute one tile of D, each over its own part of k (split).
// They write their accumulators to shared memory, over the pipeline stages. With wgmma each block then adds
// up its own columns, always in the same order, and stores them; with mma.sync the first block does all of
// it.
namespace ptxloom::gemm_kernel {

/// Shared memory for the accumulators of a thread block; 0 if a tile belongs to one block.
int cluster_reduction_bytes(const Problem& problem, const Config& config);
/// The number of column slices a tile is split into for the reduction and the store.
int reduction_slices(const Config& config);

struct ClusterReductionInputs {
  Reg shared;   ///< address of the block's shared memory
  Reg thread;   ///< among those that multiply
  int barrier;  ///< a number that the block has free
};

/// Emits the reduction, and once per slice `store`, which gets the accumulators of the slice and its first
/// column.
void emit_cluster_reduction(KernelBuilder& k, const Problem& problem, const Config& config,
                            const Accumulators& accumulators, const ClusterReductionInputs& in,
                            const std::function<void(const Accumulators& slice, int column)>& store);

}  // namespace ptxloom::gemm_kernel
