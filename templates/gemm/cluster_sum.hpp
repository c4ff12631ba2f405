// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "result.hpp"

// A tile of D by the blocks of a cluster, each over its own part of k. They leave their sums in shared
// memory, where the stages were; then, with wgmma, each adds up what the others hold of its own columns,
// always in the same order, and stores those. With mma.sync the first block does all of it.
namespace ptxloom::gemm_kernel {

/// Shared memory that a block's sums take; 0 where each tile is one block's.
int cluster_sum_bytes(const Problem& problem, const Config& config);
/// Into how many parts of columns a tile is dealt when it is summed up and stored.
int sum_slices(const Config& config);

struct ClusterSumInputs {
  Reg shared;   ///< address of the block's shared memory
  Reg thread;   ///< among those that multiply
  int barrier;  ///< a number that the block has free
};

/// Emits the sum, and `store` of what a block then has: the accumulators of a slice, whose first column it is
/// given; once for each slice.
void emit_cluster_sum(KernelBuilder& k, const Problem& problem, const Config& config,
                      const Accumulators& accumulators, const ClusterSumInputs& in,
                      const std::function<void(const Accumulators& slice, int column)>& store);

}  // namespace ptxloom::gemm_kernel
