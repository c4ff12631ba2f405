// SPDX-License-Identifier: Apache-2.0
#include "gemm/sync/pipeline.hpp"

namespace ptxloom::gemm_kernel {

Pipeline::Pipeline(KernelBuilder& k, int stages, int sharing, Reg barriers)
    : k_(k), stages_(stages), sharing_(sharing), barriers_(barriers) {
  if (sharing > 1) other_ = k.xor_(k.special("cluster_ctarank"), 1);
}

void Pipeline::initialise(int readers) {
  for (int stage = 0; stage < stages_; ++stage) {
    k_.emit("mbarrier.init.shared::cta.b64", k_.at(barriers_, 8 * stage), 1);
    k_.emit("mbarrier.init.shared::cta.b64", k_.at(barriers_, 8 * (stages_ + stage)), readers * sharing_);
  }
}

void Pipeline::advance(const Cursor& cursor) {
  k_.emit("add.u32", cursor.stage, cursor.stage, 1);
  const Reg turn = k_.eq(cursor.stage, stages_);
  k_.emit("selp.b32", cursor.stage, 0, cursor.stage, turn);
  k_.guarded(turn, [&] { k_.emit("xor.b32", cursor.phase, cursor.phase, 1); });
}

void Pipeline::skip(const Cursor& cursor, Reg stages) {
  const Reg at = k_.add(cursor.stage, stages), turns = k_.div(at, stages_);
  k_.emit("mov.u32", cursor.stage, k_.rem(at, stages_));
  k_.emit("xor.b32", cursor.phase, cursor.phase, k_.and_(turns, 1));
}

void Pipeline::drain(const Cursor& writer) {
  k_.comment("load: wait until the other thread block's warpgroups have released these stages");
  for (int stage = 0; stage < stages_; ++stage) {
    await(empty(writer), writer);
    advance(writer);
  }
}

void Pipeline::release(Reg empty) {
  k_.emit("mbarrier.arrive.shared::cta.b64", Arg::sink(), k_.at(empty));
  if (sharing_ == 1) return;
  // Relaxed: wgmma has completed its reads, and a release would wait for all earlier writes of the thread.
  const Reg there = k_.reg(u32);
  k_.emit("mapa.shared::cluster.u32", there, empty, other_);
  k_.emit("mbarrier.arrive.relaxed.cluster.shared::cluster.b64", Arg::sink(), k_.at(there));
}

void Pipeline::await(Reg barrier, const Cursor& cursor) {
  const Label again = k_.label("await");
  k_.place(again);
  const Reg done = k_.reg(pred);
  k_.emit("mbarrier.try_wait.parity.shared::cta.b64", done, k_.at(barrier), cursor.phase);
  k_.branch_unless(done, again);
}

void Pipeline::ask(Reg ended, Reg barrier, const Cursor& cursor) {
  k_.emit("mbarrier.test_wait.parity.shared::cta.b64", ended, k_.at(barrier), cursor.phase);
}

void Pipeline::await_unless(Reg ended, Reg barrier, const Cursor& cursor) {
  const Label past = k_.label("ended");
  k_.branch_if(ended, past);
  await(barrier, cursor);
  k_.place(past);
}

}  // namespace ptxloom::gemm_kernel
