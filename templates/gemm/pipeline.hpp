// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder.hpp"

// A ring of stages in shared memory between one thread that starts copies and warpgroups that use what they
// bring. A stage has two mbarriers: `full`, whose phase ends when its copies have arrived, and `empty`, whose
// phase ends when all readers have released it. Writer and readers walk the ring each with a cursor of their
// own; the parity of a cursor's phase flips at each turn, and a writer is one phase ahead: the first stages
// are empty without anybody having said so. Where two blocks of a cluster fill each other's stages, the
// readers of both release a stage in both.
namespace ptxloom::gemm_kernel {

class Pipeline {
 public:
  /// `barriers`: shared memory for them, at a multiple of 8. So many blocks fill stages together.
  Pipeline(KernelBuilder& k, int stages, int sharing, Reg barriers);
  /// Bytes of shared memory for the barriers.
  static int bytes(int stages) { return 2 * 8 * stages; }

  /// By one thread, before any other passes the block's barrier, or the cluster's. Of each block so many
  /// arrivals release a stage.
  void initialise(int readers);

  struct Cursor {
    Reg stage;  ///< 0 to stages - 1
    Reg phase;  ///< parity
  };
  Cursor writer() { return {k_.mov(u32, 0), k_.mov(u32, 1)}; }
  Cursor reader() { return {k_.mov(u32, 0), k_.mov(u32, 0)}; }
  void advance(const Cursor& cursor);
  /// Over so many stages, which others read.
  void skip(const Cursor& cursor, Reg stages);

  /// The addresses of a stage's barriers.
  Reg full(const Cursor& cursor) { return k_.fma(cursor.stage, 8, barriers_); }
  Reg empty(const Cursor& cursor) { return k_.add(full(cursor), 8 * stages_); }
  /// By the writer, when it has filled its last stage: until the readers have released all of them. Those of
  /// another block do so in this block's memory, which must not end before.
  void drain(const Cursor& writer);
  /// By a thread that speaks for a reader.
  void release(Reg empty);
  /// Waits for the phase of a barrier that the cursor stands at.
  void await(Reg barrier, const Cursor& cursor);
  /// Asks whether that phase has ended, for a wait that comes later: the answer takes its time.
  void ask(Reg ended, Reg barrier, const Cursor& cursor);
  void await_unless(Reg ended, Reg barrier, const Cursor& cursor);

 private:
  KernelBuilder& k_;
  int stages_, sharing_;
  Reg barriers_, other_;  // rank of the other block
};

}  // namespace ptxloom::gemm_kernel
