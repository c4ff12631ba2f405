// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "gemm/config/config.hpp"
#include "ptxloom/kit/cluster_reduction.hpp"

// With `split`, the thread blocks of a cluster compute one tile of D, each over its own part of k. They add
// up their accumulators (kit/cluster_reduction.hpp) over the pipeline stages: with wgmma each block its own
// columns, with mma.sync the first block all of them.
namespace ptxloom::gemm_kernel {

/// Shared memory for the accumulators of a thread block; 0 if a tile belongs to one block.
int cluster_reduction_bytes(const Problem& problem, const Config& config);
/// The number of column slices a tile is split into for the reduction and the store.
int reduction_slices(const Config& config);

/// Emits the reduction, and once per slice `store`, which gets the accumulators of the slice and its first
/// column.
void emit_cluster_reduction(KernelBuilder& k, const Problem& problem, const Config& config,
                            const kit::Accumulators& accumulators, const kit::ClusterReductionInputs& in,
                            const std::function<void(const kit::Accumulators& slice, int column)>& store);

}  // namespace ptxloom::gemm_kernel
