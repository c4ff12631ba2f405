// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config.hpp"
#include "ptxloom/builder.hpp"

// A tile of D by the blocks of a cluster, each over its own part of k. All but the first leave their sums in
// shared memory, where the stages were; the first adds them to its own, always in the same order, and has the
// tile.
namespace ptxloom::gemm_kernel {

/// Shared memory that a block's sums take; 0 where each tile is one block's.
int cluster_sum_bytes(const Problem& problem, const Config& config);

struct ClusterSumInputs {
  Reg shared;   ///< address of the block's shared memory
  Reg thread;   ///< among those that multiply
  int barrier;  ///< a number that the block has free
};

/// Emits the sum into `accumulators`, [tile along m][tile along n][register], and `store` for the block that
/// then has it.
void emit_cluster_sum(KernelBuilder& k, const Problem& problem, const Config& config,
                      const std::vector<std::vector<std::vector<Reg>>>& accumulators,
                      const ClusterSumInputs& in, const KernelBuilder::Body& store);

}  // namespace ptxloom::gemm_kernel
