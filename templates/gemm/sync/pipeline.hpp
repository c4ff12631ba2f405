// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder.hpp"

// A circular buffer of stages in shared memory between one producer thread, which issues copies, and the
// consumer warpgroups. A stage has two mbarriers: the phase of `full` ends when its copies have arrived, the
// phase of `empty` when all consumers have released it. Producer and consumers each have a cursor; the parity
// of a cursor's phase flips each time it wraps around. The producer starts one phase ahead, so the first
// stages count as empty without an arrival. If two thread blocks of a cluster fill each other's stages, the
// consumers of both release a stage in both.
namespace ptxloom::gemm_kernel {

class Pipeline {
 public:
  /// `barriers`: shared memory for the mbarriers, 8-byte aligned. `sharing`: thread blocks that fill stages
  /// together.
  Pipeline(KernelBuilder& k, int stages, int sharing, Reg barriers);
  /// Bytes of shared memory for the barriers.
  static int bytes(int stages) { return 2 * 8 * stages; }

  /// Called by one thread before any other passes the barrier of the thread block, or of the cluster.
  /// `readers`: arrivals of each thread block that release a stage.
  void initialise(int readers);

  struct Cursor {
    Reg stage;  ///< 0 to stages - 1
    Reg phase;  ///< parity
  };
  Cursor writer() { return {k_.mov(u32, 0), k_.mov(u32, 1)}; }
  Cursor reader() { return {k_.mov(u32, 0), k_.mov(u32, 0)}; }
  void advance(const Cursor& cursor);
  /// Skips stages that other warpgroups read.
  void skip(const Cursor& cursor, Reg stages);

  /// The addresses of a stage's barriers.
  Reg full(const Cursor& cursor) { return k_.fma(cursor.stage, 8, barriers_); }
  Reg empty(const Cursor& cursor) { return k_.add(full(cursor), 8 * stages_); }
  /// Called by the producer after it has filled its last stage: waits until the consumers have released all
  /// stages. Consumers in another thread block arrive in this one's shared memory, so it must not exit
  /// earlier.
  void drain(const Cursor& writer);
  /// Called by one thread on behalf of a consumer.
  void release(Reg empty);
  /// Waits for the phase of a barrier at the cursor.
  void await(Reg barrier, const Cursor& cursor);
  /// Tests whether that phase has ended, ahead of a later wait, to hide the latency of the test.
  void ask(Reg ended, Reg barrier, const Cursor& cursor);
  void await_unless(Reg ended, Reg barrier, const Cursor& cursor);

 private:
  KernelBuilder& k_;
  int stages_, sharing_;
  Reg barriers_, other_;  // rank of the other thread block
};

}  // namespace ptxloom::gemm_kernel
