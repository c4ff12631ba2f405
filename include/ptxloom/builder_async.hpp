// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder_warp.hpp"

/// \file
/// Asynchronous copies to shared memory, and the mbarriers that signal their completion.
namespace [[gnu::visibility("default")]] ptxloom {

/// The builder's layer for cp.async and mbarrier.
class AsyncBuilder : public WarpBuilder {
 public:
  using WarpBuilder::WarpBuilder;

  /// Copies 4, 8 or 16 bytes from global to shared memory asynchronously. Both addresses are multiples of
  /// that number. Copies of 16 bytes bypass L1 (`.cg`).
  void cp_async(Address to, Address from, int bytes, Caller at = Caller::current());
  /// Reads only the first `valid` bytes, a u32, and writes zeros for the others, as at the edge of a matrix.
  void cp_async(Address to, Address from, int bytes, Reg valid, Caller at = Caller::current());
  /// Closes a group: the copies of this thread since the last one.
  void cp_async_commit(Caller at = Caller::current());
  /// Waits until at most `pending` of this thread's groups are in flight.
  void cp_async_wait(int pending = 0, Caller at = Caller::current());

  /// An array of mbarrier objects in shared memory. A phase of an mbarrier completes when `count` arrivals
  /// have been made (mbarrier_init) and all expected bytes have arrived. Its phases have parity 0, 1, 0, ...
  Shared mbarriers(int count, std::string name, Caller at = Caller::current());
  /// Makes an mbarrier of 8 bytes of shared memory, or ends its use so that the bytes can hold something
  /// else.
  ///@{
  void mbarrier_init(Address barrier, Arg count, Caller at = Caller::current());
  void mbarrier_invalidate(Address barrier, Caller at = Caller::current());
  ///@}
  /// Arrives once.
  void mbarrier_arrive(Address barrier, Caller at = Caller::current());
  /// Adds to the bytes that the current phase expects; the second function also arrives once.
  ///@{
  void mbarrier_expect_tx(Address barrier, Arg bytes, Caller at = Caller::current());
  void mbarrier_arrive_expect_tx(Address barrier, Arg bytes, Caller at = Caller::current());
  ///@}
  /// A predicate: the phase of this parity has completed. `try_wait` may suspend the thread for a while
  /// first.
  ///@{
  Reg mbarrier_test_wait(Address barrier, Arg parity, Caller at = Caller::current());
  Reg mbarrier_try_wait(Address barrier, Arg parity, Caller at = Caller::current());
  ///@}
  /// Waits for the phase of this parity, in a loop of try_wait, or of test_wait if the target has nothing
  /// else.
  void mbarrier_wait(Address barrier, Arg parity, Caller at = Caller::current());
  /// Makes an arrival that is triggered when this thread's earlier cp_async copies are complete. It does not
  /// count among the arrivals of mbarrier_init: the phase expects one more.
  void mbarrier_arrive_copies(Address barrier, Caller at = Caller::current());
};

}  // namespace ptxloom
