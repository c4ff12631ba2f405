// SPDX-License-Identifier: Apache-2.0
#include "pipeline.hpp"

namespace ptxloom::gemm_kernel {

void Pipeline::initialise(int readers) {
  for (int stage = 0; stage < stages_; ++stage) {
    k_.emit("mbarrier.init.shared::cta.b64", k_.at(barriers_, 8 * stage), 1);
    k_.emit("mbarrier.init.shared::cta.b64", k_.at(barriers_, 8 * (stages_ + stage)), readers);
  }
}

void Pipeline::advance(const Cursor& cursor) {
  k_.emit("add.u32", cursor.stage, cursor.stage, 1);
  const Reg turn = k_.eq(cursor.stage, stages_);
  k_.emit("selp.b32", cursor.stage, 0, cursor.stage, turn);
  k_.guarded(turn, [&] { k_.emit("xor.b32", cursor.phase, cursor.phase, 1); });
}

void Pipeline::await(Reg barrier, const Cursor& cursor) {
  const Label again = k_.label("await");
  k_.place(again);
  const Reg done = k_.reg(pred);
  k_.emit("mbarrier.try_wait.parity.shared::cta.b64", done, k_.at(barrier), cursor.phase);
  k_.branch_unless(done, again);
}

}  // namespace ptxloom::gemm_kernel
