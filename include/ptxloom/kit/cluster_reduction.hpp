// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "ptxloom/kit/accumulators.hpp"

/// \file
/// The sum of what the thread blocks of a cluster hold of one tile, each over its own part of k
/// (TileSchedule::split), through distributed shared memory:
///
///     1. Each thread block writes its accumulators to its shared memory.
///     2. After a barrier of the cluster, each adds up a slice of the columns, always in the same order:
///        rank r adds slice r of ranks r + 1, r + 2, ... (modulo their number) to its own.
///     3. Each stores its slice. The thread blocks leave together, so that none reads shared memory of a
///        thread block that has exited.
///
///     rank 0  | a0 | b0 |      rank 0 stores a0 + a1
///     rank 1  | a1 | b1 |      rank 1 stores b1 + b0
///
/// With one slice, rank 0 adds up and stores the whole tile.
///
/// All threads that have accumulators call it together. Other threads of the cluster have exited, or exit
/// without another barrier of the cluster. The targets are those that have clusters (sm_90 and later).
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// A tile that the thread blocks of a cluster have in common.
struct ClusterTile {
  Type type;        ///< of an accumulator: f32, s32 or f64
  int blocks = 1;   ///< of the cluster; all have a part of k
  int threads = 0;  ///< of a thread block that have accumulators; whole warps
  /// 1, or as many as thread blocks. The registers of an instruction are divided in their order, so slices
  /// are of columns only for instructions whose registers are ordered by column: those of wgmma.
  int slices = 1;

  /// Shared memory for the accumulators of a thread block, in bytes, with `accumulators` of each thread.
  int shared_bytes(int accumulators) const;
};

/// What the reduction needs of a thread block.
struct ClusterReductionInputs {
  Reg shared;   ///< address of shared_bytes of shared memory, a multiple of 16; nobody reads it any more
  Reg thread;   ///< index among the threads that have accumulators, u32
  int barrier;  ///< a barrier of the thread block that is free, 0 to 15
};

/// Emits the reduction, and `store` once for each slice, with the reduced accumulators and the slice's
/// number. It overwrites `accumulators`. Throws Error(usage, "bad-reduction") if accumulators of a slice are
/// no multiple of 16 bytes, or `slices` is neither 1 nor `blocks`.
void reduce_in_cluster(KernelBuilder& k, const ClusterTile& tile, const Accumulators& accumulators,
                       const ClusterReductionInputs& in,
                       const std::function<void(const Accumulators& slice, int number)>& store);

}  // namespace kit
}  // namespace ptxloom
