// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder.hpp"

// Where blocks wait for each other: a counter in global memory, zero at first. It goes up once for each block
// that has arrived, and once for each that has seen all of them. The last of those turns it over to zero,
// which the next launch begins with. All by one thread of each block.
namespace ptxloom::gemm_kernel {

class Meeting {
 public:
  /// So many `blocks` come.
  Meeting(KernelBuilder& k, Reg counter, Reg blocks) : k_(k), counter_(counter), blocks_(blocks) {}

  /// Behind a barrier: what all threads of the block have written is there for those who have waited.
  void arrive() { count("release"); }
  void await();

 private:
  void count(const char* order);

  KernelBuilder& k_;
  Reg counter_, blocks_;
};

}  // namespace ptxloom::gemm_kernel
