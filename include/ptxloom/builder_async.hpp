// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder_warp.hpp"

// Asynchronous copies and the barriers in shared memory that they complete at.
namespace [[gnu::visibility("default")]] ptxloom {

class AsyncBuilder : public WarpBuilder {
 public:
  using WarpBuilder::WarpBuilder;

  // ---- cp.async: 4, 8 or 16 bytes from global to shared memory, both aligned to their number
  void cp_async(Address to, Address from, int bytes, Caller at = Caller::current());
  /// Reads `valid` bytes of them, and writes zeros for the others: at the edge of a matrix.
  void cp_async(Address to, Address from, int bytes, Reg valid, Caller at = Caller::current());
  void cp_async_commit(Caller at = Caller::current());
  /// Until at most `pending` of this thread's groups are under way.
  void cp_async_wait(int pending = 0, Caller at = Caller::current());

  // ---- mbarrier: objects in shared memory. A phase ends when `count` arrivals are made, and the bytes have
  // come that were expected. Phases have parity 0, 1, 0, ...
  Shared mbarriers(int count, std::string name, Caller at = Caller::current());
  void mbarrier_init(Address barrier, Arg count, Caller at = Caller::current());
  void mbarrier_invalidate(Address barrier, Caller at = Caller::current());
  void mbarrier_arrive(Address barrier, Caller at = Caller::current());
  void mbarrier_expect_tx(Address barrier, Arg bytes, Caller at = Caller::current());
  void mbarrier_arrive_expect_tx(Address barrier, Arg bytes, Caller at = Caller::current());
  /// Whether the phase of this parity has ended; try_wait may first sleep for a while.
  Reg mbarrier_test_wait(Address barrier, Arg parity, Caller at = Caller::current());
  Reg mbarrier_try_wait(Address barrier, Arg parity, Caller at = Caller::current());
  /// A loop of try_wait, or of test_wait where the target has no other.
  void mbarrier_wait(Address barrier, Arg parity, Caller at = Caller::current());
  /// This thread's copies so far (cp.async) arrive when they are done, besides the arrivals of `count`.
  void mbarrier_arrive_copies(Address barrier, Caller at = Caller::current());
};

}  // namespace ptxloom
