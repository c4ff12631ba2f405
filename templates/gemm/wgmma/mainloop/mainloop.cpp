// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/mainloop/mainloop.hpp"

namespace ptxloom::gemm_kernel::wgmma {

MainLoop::MainLoop(KernelBuilder& k, const Config& config, const Plan& plan, kit::Pipeline& pipeline,
                   const MainLoopInputs& in)
    : k_(k),
      c_(config),
      plan_(plan),
      pipeline_(pipeline),
      in_(in),
      cursor_(pipeline.consumer()),
      a_(k, plan.a, k.fma(in.row, plan.a.offset(kWgmmaRows, 0) / kWgmmaRows, in.stages)),
      b_(k, plan.b, plan.stage.address(k, in.stages, "b")),
      overwrite_(k.ne(in.stages, in.stages)),
      add_(k.eq(in.stages, in.stages)),
      released_(k.reg(u32)) {
  if (c_.warps_n > 1) b_.move(k, k.div(in.column, warpgroup_n(c_)), plan.b.offset(warpgroup_n(c_), 0));
  accumulators_ = allocate();
  if (plan.promotes) promoted_ = allocate();
  if (!in.turn) return;
  pipeline.skip(cursor_, k.mul(in.turn->number, in.turn->stages));
  k.if_(k.ne(in.turn->number, 0), [&] { pass_turn(); });
}

kit::Accumulators MainLoop::allocate() {
  kit::Accumulators made;
  for (int i = 0; i < warpgroup_m(c_) / kWgmmaRows; ++i)
    made.push_back({kit::wgmma_accumulators(k_, c_.mma)});
  return made;
}

void MainLoop::await_stage() {
  k_.comment("multiply: wait for the stage to be full");
  pipeline_.await(pipeline_.full(cursor_), cursor_);
}

void MainLoop::multiply_stage(bool first) {
  k_.comment("multiply: its k-block, as one wgmma group");
  const Reg stage = k_.mul(cursor_.stage, plan_.stage_bytes / kit::WgmmaOperand::kUnit);
  const Reg a = a_.low(k_, stage), b = b_.low(k_, stage);
  kit::wgmma_fence(k_);
  for (int step = 0; step < c_.k_steps(); ++step)
    for (std::size_t i = 0; i < accumulators_.size(); ++i) {
      const int depth = step * c_.mma_k;
      const Reg of_a = a_.descriptor(k_, a, static_cast<int>(i) * kWgmmaRows, depth);
      const Reg of_b = b_.descriptor(k_, b, 0, depth);
      kit::wgmma(k_, c_.mma, accumulators_[i][0], of_a, of_b, first && step == 0 ? overwrite_ : add_,
                 a_.transposed(), b_.transposed());
    }
  kit::wgmma_commit(k_);
}

// The stage's products are in flight: it is released when they are done.
void MainLoop::leave_stage() {
  k_.emit("mov.u32", released_, pipeline_.empty(cursor_));
  pipeline_.advance(cursor_);
}

void MainLoop::release(Reg barrier) {
  k_.guarded(in_.releases, [&] { pipeline_.release(barrier); });
}

void MainLoop::load_ahead() {
  if (in_.loads) in_.loads->next();
}

void MainLoop::run(Reg depth) {
  const Reg steps = k_.div(k_.add(depth, c_.tile_k - 1), c_.tile_k);
  plan_.promotes ? run_promoted(steps) : run_plain(steps);
}

void MainLoop::await_turn() {
  if (!in_.turn) return;
  k_.comment("multiply: wait until the other warpgroup's tile has all its stages");
  k_.emit("bar.sync", in_.turn->barrier, c_.tiles_in_flight() * kWarpgroupThreads);
}

void MainLoop::pass_turn() {
  if (!in_.turn) return;
  k_.comment("multiply: skip the stages of the other warpgroup's tile");
  k_.emit("bar.arrive", in_.turn->other, c_.tiles_in_flight() * kWarpgroupThreads);
}

void MainLoop::run_promoted(Reg steps) {
  k_.comment("multiply: no k-blocks, zero accumulators");
  for (const auto& tile : promoted_)
    for (const Reg& sum : tile[0]) k_.emit("mov.f32", sum, Arg::zero(f32));
  const Reg full = k_.reg(pred);
  pipeline_.test(full, pipeline_.full(cursor_), cursor_);
  k_.for_(0, steps, 1, [&](Reg) {
    k_.pragma("\"nounroll\"");
    k_.comment("multiply: wait for the stage to be full");
    pipeline_.await_unless(full, pipeline_.full(cursor_), cursor_);
    multiply_stage(true);
    if (in_.scales) in_.scales->read(cursor_.stage);
    leave_stage();
    load_ahead();
    k_.comment("multiply: test whether the next stage is full while the products are in flight");
    pipeline_.test(full, pipeline_.full(cursor_), cursor_);
    kit::wgmma_wait(k_);
    release(released_);
    promote();
  });
}

void MainLoop::promote() {
  k_.comment("multiply: promote the accumulators of the stage");
  if (in_.scales) return in_.scales->add(accumulators_, promoted_);
  for (std::size_t i = 0; i < promoted_.size(); ++i)
    for (std::size_t j = 0; j < promoted_[i][0].size(); ++j)
      k_.emit("add.f32", promoted_[i][0][j], promoted_[i][0][j], accumulators_[i][0][j]);
}

void MainLoop::run_plain(Reg steps) {
  await_turn();
  await_stage();
  multiply_stage(true);
  leave_stage();
  load_ahead();
  k_.for_(1, steps, 1, [&](Reg) {
    k_.pragma("\"nounroll\"");
    await_stage();
    multiply_stage(false);
    k_.comment("multiply: release the previous stage, whose products are done");
    kit::wgmma_wait(k_, 1);
    release(released_);
    leave_stage();
    load_ahead();
  });
  pass_turn();
  k_.comment("multiply: the last products of the tile");
  kit::wgmma_wait(k_);
  release(released_);
  if (in_.turn) pipeline_.skip(cursor_, in_.turn->stages);
}

}  // namespace ptxloom::gemm_kernel::wgmma
