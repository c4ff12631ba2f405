// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/wgmma/mainloop.hpp"

#include <algorithm>

#include "ptxloom/kit/mma.hpp"

namespace ptxloom::scaled_gemm::wgmma {

Variant with_a_in_registers(const Specs& specs, const std::string& opcode) {
  const std::vector<Variant> found = specs.match(opcode);
  return *std::ranges::find_if(found, [](const Variant& one) { return one.operand("A").registers() == 4; });
}

MainLoop::MainLoop(KernelBuilder& k, const Problem& p, const Config& c, const Plan& plan,
                   kit::Pipeline& pipeline, Weights& weights, const MainLoopInputs& in)
    : k_(k),
      c_(c),
      plan_(plan),
      depth_(instruction_depth(p)),
      chunk_depth_(depth_ * chunk_steps(p, c)),
      run_(p.promotes() ? run_depth(p, c.tile_k) : 0),
      pipeline_(pipeline),
      weights_(weights),
      in_(in),
      mma_(with_a_in_registers(k.specs(), opcode(p, c.tile_m))),
      cursor_(pipeline.consumer()),
      activations_(k, plan.activations, plan.stage.address(k, in.stages, "activations")),
      add_(k.eq(in.lane, in.lane)),
      releases_(k.reg(pred)),
      released_(k.reg(u32)) {
  for (int i = 0; i < row_tiles_of_warpgroup(c); ++i) {
    accumulators_.push_back({kit::wgmma_accumulators(k, mma_)});
    for (auto& of_parity : fragments_) of_parity.push_back(weights.allocate());
    if (!p.row_scales()) continue;
    sums_.push_back({k.regs(f32, c.tile_m / 2)});
    factors_.push_back({k.reg(f32), k.reg(f32)});
  }
  if (promotes()) anew_ = k.ne(in.lane, in.lane);
}

void MainLoop::run(const kit::TileOrigin& origin, const kit::DepthPart& depth) {
  weights_.begin(origin);
  k_.comment("multiply: zero accumulators");
  for (const kit::Accumulators& all : {accumulators_, sums_})
    for (const auto& tile : all)
      for (const Reg& sum : tile[0]) k_.emit("mov." + std::string(sum.type.name), sum, Arg::zero(sum.type));
  for (const auto& tile : factors_)
    for (const Reg& factor : tile) k_.emit("mov.f32", factor, Arg::zero(f32));
  k_.emit("setp.ne.u32", releases_, in_.lane, in_.lane);
  k_.for_(depth.begin, depth.end, c_.tile_k, [&](Reg at) {
    k_.pragma("\"nounroll\"");
    k_.comment("multiply: wait for the stage to be full");
    pipeline_.await(pipeline_.full(cursor_), cursor_);
    multiply_block(at);
    k_.emit("setp.eq.u32", releases_, in_.lane, 0);
    k_.emit("mov.u32", released_, pipeline_.empty(cursor_));
    pipeline_.advance(cursor_);
  });
  k_.comment("multiply: the last products of the tile");
  kit::wgmma_wait(k_);
  promotes() ? promote() : scale_sums();
  release();
}

void MainLoop::multiply_block(Reg depth) {
  k_.comment("multiply: read the weights of the k-block");
  weights_.read(k_.mul(cursor_.stage, plan_.stage_bytes), depth);
  const Reg low = activations_.low(k_, k_.mul(cursor_.stage, plan_.stage_bytes / kit::WgmmaOperand::kUnit));
  for (int chunk = 0; chunk < c_.tile_k / chunk_depth_; ++chunk) {
    kit::wgmma_wait(k_, 1);
    if (chunk == 1) release();  // the products of the stage before are done
    multiply_chunk(chunk, low);
  }
}

void MainLoop::multiply_chunk(int chunk, Reg low) {
  k_.comment("multiply: fragments of weights, then their products");
  const std::vector<Weights::Fragments>& fragments = fragments_[chunk % 2];
  for (std::size_t i = 0; i < fragments.size(); ++i) weights_.make(static_cast<int>(i), chunk, fragments[i]);
  if (begins_run(chunk)) {
    kit::wgmma_wait(k_);
    promote();
  }
  if (begins_run(chunk) || (!promotes() && chunk == 0)) keep_factors();
  kit::wgmma_fence(k_);
  for (int step = 0; step < chunk_depth_ / depth_; ++step) {
    const Reg b = activations_.descriptor(k_, low, 0, chunk * chunk_depth_ + step * depth_);
    for (std::size_t i = 0; i < fragments.size(); ++i)
      kit::wgmma(k_, mma_, accumulators_[i][0],
                 std::span(fragments[i]).subspan(static_cast<std::size_t>(4 * step), 4), b,
                 begins_run(chunk) && step == 0 ? anew_ : add_);
  }
  kit::wgmma_commit(k_);
}

void MainLoop::keep_factors() {
  for (std::size_t i = 0; i < factors_.size(); ++i)
    for (std::size_t half = 0; half < 2; ++half)
      k_.set(factors_[i][half], weights_.factors(static_cast<int>(i))[half]);
}

// No wgmma is in flight. A thread has rows r and r + 8 of the product.
void MainLoop::promote() {
  k_.comment("multiply: promote the accumulators of the run before");
  const std::vector<kit::AccumulatorPlace> places = kit::accumulator_places(mma_);
  for (std::size_t i = 0; i < sums_.size(); ++i)
    for (std::size_t j = 0; j < places.size(); ++j)
      scaled_gemm::promote(k_, sums_[i][0][j], accumulators_[i][0][j],
                           factors_[i][static_cast<std::size_t>(places[j].row / 8)]);
}

void MainLoop::scale_sums() {
  const std::vector<kit::AccumulatorPlace> places = kit::accumulator_places(mma_);
  for (std::size_t i = 0; i < sums_.size(); ++i)
    for (std::size_t j = 0; j < places.size(); ++j)
      scale_sum(k_, sums_[i][0][j], accumulators_[i][0][j],
                factors_[i][static_cast<std::size_t>(places[j].row / 8)]);
}

void MainLoop::release() {
  k_.comment("multiply: release the stage before");
  k_.warp_barrier();
  k_.guarded(releases_, [&] { pipeline_.release(released_); });
}

}  // namespace ptxloom::scaled_gemm::wgmma
