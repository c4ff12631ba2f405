// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/pipeline.hpp"

#include <fmt/format.h>

#include "kit/integers.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr int kBarrierBytes = 8, kMostSharing = 16;

}  // namespace

Pipeline::Pipeline(KernelBuilder& k, int stages, Reg barriers, int sharing, StageReads reads)
    : k_(k), stages_(stages), sharing_(sharing), reads_(reads), barriers_(barriers) {
  if (stages < 1 || !power_of_two(sharing) || sharing > kMostSharing)
    throw Error(ErrorKind::usage, "bad-pipeline",
                fmt::format("a pipeline of {} stages that {} thread blocks share", stages, sharing),
                "it has at least one stage, and 1, 2, 4, 8 or 16 thread blocks share it");
  if (sharing == 1) return;
  const Reg rank = k.special("cluster_ctarank");
  for (int other = 1; other < sharing; ++other) others_.push_back(k.xor_(rank, other));
}

// The fence makes the barriers visible to the cluster and to asynchronous copies.
void Pipeline::initialise(int consumers, int producers) {
  for (int stage = 0; stage < stages_; ++stage) {
    k_.emit("mbarrier.init.shared::cta.b64", k_.at(barriers_, kBarrierBytes * stage), producers);
    k_.emit("mbarrier.init.shared::cta.b64", k_.at(barriers_, kBarrierBytes * (stages_ + stage)),
            consumers * sharing_);
  }
  k_.emit("fence.mbarrier_init.release.cluster");
}

void Pipeline::advance(const Cursor& cursor) {
  k_.emit("add.u32", cursor.stage, cursor.stage, 1);
  const Reg wraps = k_.eq(cursor.stage, stages_);
  k_.emit("selp.b32", cursor.stage, 0, cursor.stage, wraps);
  k_.guarded(wraps, [&] { k_.emit("xor.b32", cursor.phase, cursor.phase, 1); });
}

void Pipeline::skip(const Cursor& cursor, Reg stages) {
  const Reg at = k_.add(cursor.stage, stages), rounds = k_.div(at, stages_);
  k_.emit("mov.u32", cursor.stage, k_.rem(at, stages_));
  k_.emit("xor.b32", cursor.phase, cursor.phase, k_.and_(rounds, 1));
}

void Pipeline::await(Reg barrier, const Cursor& cursor, const char* opcode) {
  const Label again = k_.label("await");
  k_.place(again);
  const Reg done = k_.reg(pred);
  k_.emit(opcode, done, k_.at(barrier), cursor.phase);
  k_.branch_unless(done, again);
}

void Pipeline::await(Reg barrier, const Cursor& cursor) {
  await(barrier, cursor, "mbarrier.try_wait.parity.shared::cta.b64");
}

void Pipeline::test(Reg ended, Reg barrier, const Cursor& cursor) {
  k_.emit("mbarrier.test_wait.parity.shared::cta.b64", ended, k_.at(barrier), cursor.phase);
}

void Pipeline::await_unless(Reg ended, Reg barrier, const Cursor& cursor) {
  const Label past = k_.label("ended");
  k_.branch_if(ended, past);
  await(barrier, cursor);
  k_.place(past);
}

void Pipeline::acquire(const Cursor& cursor) {
  if (reads_ == StageReads::shared_loads) {
    await(empty(cursor), cursor, "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64");
    k_.emit("fence.proxy.async.shared::cluster");
    return;
  }
  await(empty(cursor), cursor);
  if (reads_ == StageReads::loads) k_.emit("fence.proxy.async.shared::cta");
}

void Pipeline::expect(Reg full, int bytes) {
  k_.emit("mbarrier.arrive.expect_tx.shared::cta.b64", Arg::sink(), k_.at(full), bytes);
}

void Pipeline::arrive(Reg full) { k_.emit("mbarrier.arrive.shared::cta.b64", Arg::sink(), k_.at(full)); }

void Pipeline::release(Reg empty) {
  k_.emit("mbarrier.arrive.shared::cta.b64", Arg::sink(), k_.at(empty));
  // Reads by wgmma are complete, so relaxed will do; a release waits for all earlier writes of the thread.
  const bool orders = reads_ == StageReads::shared_loads;
  for (const Reg& other : others_) {
    const Reg there = k_.reg(u32);
    k_.emit("mapa.shared::cluster.u32", there, empty, other);
    k_.emit(orders ? "mbarrier.arrive.release.cluster.shared::cluster.b64"
                   : "mbarrier.arrive.relaxed.cluster.shared::cluster.b64",
            Arg::sink(), k_.at(there));
  }
}

void Pipeline::drain(const Cursor& producer) {
  for (int stage = 0; stage < stages_; ++stage) {
    await(empty(producer), producer);
    advance(producer);
  }
}

}  // namespace ptxloom::kit
