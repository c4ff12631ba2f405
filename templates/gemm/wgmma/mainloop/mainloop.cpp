// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/mainloop/mainloop.hpp"

#include <array>

namespace ptxloom::gemm_kernel::wgmma {
namespace {

constexpr int kAddressUnit = 16;  // bytes, of addresses in matrix descriptors

}  // namespace

MainLoop::MainLoop(KernelBuilder& k, const Config& config, const Plan& plan, kit::Pipeline& pipeline,
                   const MainLoopInputs& in)
    : k_(k),
      c_(config),
      plan_(plan),
      pipeline_(pipeline),
      in_(in),
      cursor_(pipeline.consumer()),
      a_(operand(plan.a, k.fma(in.row, plan.a.offset(kWgmmaRows, 0) / kWgmmaRows, in.stages))),
      b_(operand(plan.b, plan.stage.address(k, in.stages, "b"))),
      overwrite_(k.ne(in.stages, in.stages)),
      add_(k.eq(in.stages, in.stages)),
      released_(k.reg(u32)) {
  if (c_.warps_n > 1) {
    const int step = plan.b.offset(c_.warpgroup_n(), 0) / kAddressUnit;
    k.emit("mad.lo.u32", b_.low, k.div(in.column, c_.warpgroup_n()), step, b_.low);
  }
  accumulators_ = allocate();
  if (plan.promotes) promoted_ = allocate();
  if (!in.turn) return;
  pipeline.skip(cursor_, k.mul(in.turn->number, in.turn->stages));
  k.if_(k.ne(in.turn->number, 0), [&] { pass_turn(); });
}

Accumulators MainLoop::allocate() {
  const OperandSpec& d = c_.mma.operand("D");
  Accumulators made;
  for (int i = 0; i < c_.warpgroup_m() / kWgmmaRows; ++i) made.push_back({k_.regs(d.type, d.registers())});
  return made;
}

// Descriptors differ only in the address, the low 14 bits; the rest is constant. Adding to the low half moves
// the address, because shared memory is smaller than 14 bits can address. In a cluster an address may have
// the thread block's rank above them.
MainLoop::Operand MainLoop::operand(const kit::TmaTile& tile, Reg start) {
  const std::uint64_t bits = tile.descriptor();
  const Reg address = k_.and_(k_.shr(start, 4), 0x3fff);
  const Reg low = k_.or_(address, static_cast<std::int64_t>(bits & 0xffff'ffff));
  return {tile, KernelBuilder::as(u32, low), k_.mov(u32, static_cast<std::int64_t>(bits >> 32))};
}

Reg MainLoop::descriptor(const Operand& operand, Reg stage_low, int extent, int depth) {
  const int offset = operand.tile.offset(extent, depth) / kAddressUnit;
  const std::array halves{offset == 0 ? stage_low : k_.add(stage_low, offset), operand.high};
  return k_.pack(u64, halves);
}

void MainLoop::await_stage() {
  k_.comment("multiply: wait for the stage to be full");
  pipeline_.await(pipeline_.full(cursor_), cursor_);
}

void MainLoop::multiply_stage(bool first) {
  k_.comment("multiply: its k-block, as one wgmma group");
  const Reg stage = k_.mul(cursor_.stage, plan_.stage_bytes / kAddressUnit);
  const Reg a = k_.add(a_.low, stage), b = k_.add(b_.low, stage);
  k_.emit("wgmma.fence.sync.aligned");
  for (int step = 0; step < c_.k_steps(); ++step)
    for (std::size_t i = 0; i < accumulators_.size(); ++i) {
      const int depth = step * c_.mma_k;
      const Reg of_a = descriptor(a_, a, static_cast<int>(i) * kWgmmaRows, depth);
      const Reg of_b = descriptor(b_, b, 0, depth);
      multiply(accumulators_[i][0], of_a, of_b, first && step == 0 ? overwrite_ : add_);
    }
  k_.emit("wgmma.commit_group.sync.aligned");
}

// The immediates that follow depend on the type: integers have no sign flips, and only 16-bit types
// transpose.
void MainLoop::multiply(const std::vector<Reg>& sums, Reg a, Reg b, Reg add) {
  const auto has = [&](std::string_view operand) { return c_.mma.operand_index(operand) >= 0; };
  if (has("TA"))
    k_.emit(c_.mma, sums, a, b, add, 1, 1, plan_.a.transposed() ? 1 : 0, plan_.b.transposed() ? 1 : 0);
  else if (has("NA"))
    k_.emit(c_.mma, sums, a, b, add, 1, 1);
  else
    k_.emit(c_.mma, sums, a, b, add);
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
    k_.emit("wgmma.wait_group.sync.aligned", 0);
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
    k_.emit("wgmma.wait_group.sync.aligned", 1);
    release(released_);
    leave_stage();
    load_ahead();
  });
  pass_turn();
  k_.comment("multiply: the last products of the tile");
  k_.emit("wgmma.wait_group.sync.aligned", 0);
  release(released_);
  if (in_.turn) pipeline_.skip(cursor_, in_.turn->stages);
}

}  // namespace ptxloom::gemm_kernel::wgmma
