// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder.hpp"

/// \file
/// A barrier between the thread blocks of a grid, in two halves. One thread of each thread block calls both:
///
///     all threads write to global memory
///     barrier of the thread block
///     one thread: arrive()                  other work in between hides the wait
///     one thread: await()                   all thread blocks have arrived
///     this thread, and after a barrier of the thread block all of its threads, read what others wrote
///
/// The barrier is a u32 in global memory, which is zero before the first launch. It counts each thread block
/// twice: when it arrives, and when it has seen all others arrive. The last of these counts wraps to zero,
/// ready for the next launch. A kernel that meets more than once needs a counter for each time.
///
/// All thread blocks must be resident at once: the launch is cooperative (LaunchPlan::cooperative).
///
/// Errors: none of its own. The functions throw as KernelBuilder::emit() does.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// A place where all thread blocks of a grid meet.
class GridRendezvous {
 public:
  /// `counter`: the address (u64) of the u32. `blocks`: the number of thread blocks that take part (u32), at
  /// most 2^30.
  GridRendezvous(KernelBuilder& k, Reg counter, Reg blocks) : k_(k), counter_(counter), blocks_(blocks) {}

  /// Says that this thread block has arrived. Call it after a barrier of the thread block: what all of its
  /// threads have written is then visible to those that have waited.
  void arrive() { count("release"); }
  /// Waits until all thread blocks have arrived. Call it once for each arrive().
  void await();

 private:
  void count(const char* order);

  KernelBuilder& k_;
  Reg counter_, blocks_;
};

}  // namespace kit
}  // namespace ptxloom
