// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "ptxloom/builder.hpp"

/// \file
/// Bulk asynchronous copies: TMA loads and stores of boxes of a tensor, and copies of consecutive bytes. One
/// thread issues a copy for all:
///
///     load    global -> shared     signals an mbarrier: it completes the bytes that pipeline.hpp's expect()
///                                  announced
///     store   shared -> global     belongs to a bulk group of the thread; bulk_commit() closes a group, and
///                                  bulk_wait() waits for groups
///
/// Before a store, each thread that wrote to the shared memory calls fence_for_bulk(), then all meet at a
/// barrier. A tensor is named by the generic address of its tensor map (tensor_map.hpp), and a box by the
/// coordinates of its first element (u32 or s32), the contiguous dimension first. What lies outside the
/// tensor is loaded as zero, and not stored. A box begins at a multiple of 128 bytes of shared memory;
/// consecutive bytes begin at multiples of 16 on both sides, and are a multiple of 16.
///
/// Targets from sm_90 on have them.
///
/// Errors: none of its own. Other targets, and numbers of coordinates other than 1 to 5, are refused as by
/// KernelBuilder::emit().
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// More about a load.
struct BulkOptions {
  /// A u16 with a bit for each thread block of the cluster, by rank: the load writes to the same place in the
  /// shared memory of all of them, and signals the mbarrier at the same place in each.
  std::optional<Reg> multicast = {};
  std::optional<Reg> policy = {};  ///< b64, for L2: evict_first_policy()
};

/// A box of a tensor, to the shared address `to`; `barrier` is the address (u32) of an mbarrier.
void tma_load(KernelBuilder& k, Reg map, std::span<const Reg> at, Address to, Reg barrier,
              const BulkOptions& options = {});
/// A box of a tensor, from the shared address `from`.
void tma_store(KernelBuilder& k, Reg map, std::span<const Reg> at, Address from);
/// Consecutive bytes of global memory, to the shared address `to`. `bytes`: a u32 or a literal.
void bulk_load(KernelBuilder& k, Address to, Address from, Arg bytes, Reg barrier,
               const BulkOptions& options = {});
/// Consecutive bytes of shared memory, to the global address `to`.
void bulk_store(KernelBuilder& k, Address to, Address from, Arg bytes);

/// Makes what this thread has written to shared memory visible to bulk stores, and orders what it has read
/// there before bulk loads.
void fence_for_bulk(KernelBuilder& k);
/// Closes a group: the stores that this thread has issued since the last one, possibly none.
void bulk_commit(KernelBuilder& k);
/// Waits until at most `pending` groups of this thread are in flight. The second function waits only until
/// shared memory has been read, so that it can be written again.
///@{
void bulk_wait(KernelBuilder& k, int pending = 0);
void bulk_wait_read(KernelBuilder& k, int pending = 0);
///@}
/// A cache policy (b64) for what is read once: L2 evicts it first.
Reg evict_first_policy(KernelBuilder& k);

}  // namespace kit
}  // namespace ptxloom
