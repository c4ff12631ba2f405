// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder.hpp"

/// \file
/// A pipeline: a circular buffer of stages in shared memory that producers fill and consumers read. A stage
/// has two mbarriers. The phase of `full` ends when its producers have arrived and all bytes that they expect
/// have been copied; the phase of `empty` ends when all consumers have released the stage:
///
///     producer                                   consumer
///     acquire(at)                                await(full(at), at)
///     expect(full(at), bytes), TMA loads         read the stage
///     advance(at)                                release(empty(at)), advance(at)
///
/// Each side has a cursor: a stage, and the parity of the phase that it waits for, which flips each time the
/// cursor wraps around. The producers' cursor starts one phase ahead, so the first stages count as empty:
///
///     3 stages     stage 0 1 2 0 1 2 0 ...
///     producer     phase 1 1 1 0 0 0 1
///     consumer     phase 0 0 0 1 1 1 0
///
/// Thread blocks of a cluster may fill each other's stages (multicast). Then the consumers of all of them
/// release a stage in all of them: `sharing` thread blocks, a power of two, whose ranks in the cluster differ
/// in the lowest bits.
///
/// The stages themselves are the caller's. The part needs mbarrier.try_wait (sm_90).
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// How consumers read the stages. Copies write a stage through the async proxy, so that a proxy fence must
/// come between loads of a stage and its next copies. Producers have it, when they acquire the stage: ptxas
/// serializes wgmma around a fence of consumers. It covers the shared memory of the thread block, or that of
/// the cluster, which on sm_90a also waits for the thread's accesses to global memory: up to 22 % of a
/// kernel on an H200.
enum class StageReads {
  wgmma,         ///< by wgmma alone, or no asynchronous copies fill the stages
  loads,         ///< by ld.shared, ldmatrix and the like, of what this thread block's copies write
  shared_loads,  ///< the same, also of what copies of other thread blocks write (multicast)
};

/// The mbarriers of a pipeline, and what producers and consumers do with them.
class Pipeline {
 public:
  /// `barriers`: address (u32) in shared memory of bytes(stages) bytes, a multiple of 8. Throws
  /// Error(usage, "bad-pipeline") without a stage, or if `sharing` is no power of two up to 16.
  Pipeline(KernelBuilder& k, int stages, Reg barriers, int sharing = 1, StageReads reads = StageReads::loads);
  /// Bytes of shared memory for the barriers.
  static int bytes(int stages) { return 2 * 8 * stages; }

  /// Makes the barriers. Called by one thread, before a barrier of the thread block, or of the cluster if
  /// several share stages, that all threads pass first. `consumers`: calls of release() in a thread block
  /// that release a stage. `producers`: calls of expect() and arrive() that fill one.
  void initialise(int consumers, int producers = 1);

  /// A position in the circular buffer. Registers that advance() changes.
  struct Cursor {
    Reg stage;  ///< 0 to stages - 1
    Reg phase;  ///< parity of the phase to wait for
  };
  /// New cursors, at the first stage.
  ///@{
  Cursor producer() { return {k_.mov(u32, 0), k_.mov(u32, 1)}; }
  Cursor consumer() { return {k_.mov(u32, 0), k_.mov(u32, 0)}; }
  ///@}
  void advance(const Cursor& cursor);  ///< to the next stage
  /// Moves on by a number of stages (u32), which other consumers read. A phase cannot be told from the one
  /// two before it: whoever skips more than all stages must make sure, by a barrier with the other consumers,
  /// that the phase before has ended when it waits.
  void skip(const Cursor& cursor, Reg stages);

  /// The addresses of a stage's barriers.
  ///@{
  Reg full(const Cursor& cursor) { return k_.fma(cursor.stage, 8, barriers_); }
  Reg empty(const Cursor& cursor) { return k_.add(full(cursor), 8 * stages_); }
  ///@}

  /// Waits for the phase of a barrier at the cursor.
  void await(Reg barrier, const Cursor& cursor);
  /// Sets `ended` (a predicate) to whether that phase has ended, ahead of a later wait, to hide the latency
  /// of the test.
  void test(Reg ended, Reg barrier, const Cursor& cursor);
  /// Waits unless the test has succeeded.
  void await_unless(Reg ended, Reg barrier, const Cursor& cursor);

  /// A producer waits until consumers have released the stage.
  void acquire(const Cursor& cursor);
  /// A producer arrives, and the stage expects this many bytes more, at most 2^20 - 1. Asynchronous copies
  /// that signal `full` follow.
  void expect(Reg full, int bytes);
  /// A producer arrives that has written to the stage itself.
  void arrive(Reg full);
  /// A consumer, or one thread on behalf of several that it has met at a barrier, has read the stage. In a
  /// cluster the other thread blocks learn it without ordering, except with StageReads::shared_loads: what
  /// the thread has written is not visible to them.
  void release(Reg empty);
  /// Called by the producer after its last stage: waits until all stages have been released. Consumers of
  /// another thread block arrive in this one's shared memory, so it must not exit earlier.
  void drain(const Cursor& producer);

 private:
  void await(Reg barrier, const Cursor& cursor, const char* opcode);

  KernelBuilder& k_;
  int stages_, sharing_;
  StageReads reads_;
  Reg barriers_;
  std::vector<Reg> others_;  // ranks of the other thread blocks
};

}  // namespace kit
}  // namespace ptxloom
