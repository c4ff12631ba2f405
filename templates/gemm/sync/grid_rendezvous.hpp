// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder.hpp"

// A barrier between thread blocks: a counter in global memory, initially zero. It is incremented once for
// each block that has arrived, and once for each block that has seen all arrive. The last of those wraps it
// to zero, ready for the next launch. One thread of each block does all of this.
namespace ptxloom::gemm_kernel {

class GridRendezvous {
 public:
  /// `blocks` thread blocks take part.
  GridRendezvous(KernelBuilder& k, Reg counter, Reg blocks) : k_(k), counter_(counter), blocks_(blocks) {}

  /// Call after a block barrier: what all threads of the block have written is then visible to those who
  /// waited.
  void arrive() { count("release"); }
  void await();

 private:
  void count(const char* order);

  KernelBuilder& k_;
  Reg counter_, blocks_;
};

}  // namespace ptxloom::gemm_kernel
