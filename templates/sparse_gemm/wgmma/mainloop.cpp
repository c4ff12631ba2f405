// SPDX-License-Identifier: Apache-2.0
#include "sparse_gemm/wgmma/mainloop.hpp"

#include <string>

namespace ptxloom::sparse_gemm::wgmma {

MainLoop::MainLoop(KernelBuilder& k, const Problem& p, const Config& c, const Plan& plan,
                   kit::Pipeline& pipeline, const MainLoopInputs& in)
    : k_(k),
      c_(c),
      plan_(plan),
      layout_(p.layout()),
      depth_(instruction_depth(p)),
      chunks_(chunks(p, c)),
      units_(chunk_units(p)),
      pipeline_(pipeline),
      in_(in),
      mma_(*find_mma(k.specs(), k.target(), p, c.tile_m)),
      cursor_(pipeline.consumer()),
      values_(k, plan.values, plan.stage.address(k, in.stages, "values")),
      activations_(k, plan.activations, plan.stage.address(k, in.stages, "activations")),
      add_(k.eq(in.thread, in.thread)),
      releases_(k.reg(pred)),
      released_(k.reg(u32)) {
  values_.move(k, in.warpgroup, plan.values.offset(row_tiles(c) * kRows, 0));
  for (int i = 0; i < row_tiles(c); ++i) {
    accumulators_.push_back({kit::wgmma_accumulators(k, mma_)});
    words_from_.push_back(k.reg(u64));
  }
  const auto words = [&] {
    Words made;
    for (int unit = 0; unit < units_; ++unit) made.push_back(k.regs(b32, row_tiles(c)));
    return made;
  };
  for (int chunk = 0; chunk < chunks_; ++chunk) next_.push_back(words());
  for (int parity = 0; parity < 2; ++parity) used_.push_back(words());
}

void MainLoop::run(const kit::TilePortion& portion) {
  k_.comment("multiply: zero accumulators");
  for (const auto& tile : accumulators_)
    for (const Reg& sum : tile[0]) k_.emit("mov." + std::string(sum.type.name), sum, Arg::zero(sum.type));
  start(portion);
  k_.emit("setp.ne.u32", releases_, in_.thread, in_.thread);
  k_.for_(portion.depth.begin, portion.depth.end, c_.tile_k, [&](Reg depth) {
    k_.pragma("\"nounroll\"");
    k_.comment("multiply: wait for the stage to be full");
    pipeline_.await(pipeline_.full(cursor_), cursor_);
    const Reg units = k_.mul(cursor_.stage, plan_.stage_bytes / kit::WgmmaOperand::kUnit);
    const std::array low{values_.low(k_, units), activations_.low(k_, units)};
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      kit::wgmma_wait(k_, 1);
      if (chunk == 1) release();  // the products of the stage before are done
      multiply_chunk(chunk, k_.add(depth, c_.tile_k), portion.depth.end, low);
    }
    k_.emit("setp.eq.u32", releases_, k_.and_(in_.thread, 31), 0);
    k_.emit("mov.u32", released_, pipeline_.empty(cursor_));
    pipeline_.advance(cursor_);
  });
  k_.comment("multiply: the last products of the tile");
  kit::wgmma_wait(k_);
  release();
}

// Rows behind the last tile have the metadata of that tile, and zeros as values.
void MainLoop::start(const kit::TilePortion& portion) {
  k_.comment("multiply: the metadata of the first k-block");
  const auto last = static_cast<std::int64_t>(layout_.row_tiles()) - 1;
  const Reg first = k_.fma(in_.warpgroup, row_tiles(c_), k_.div(portion.tile.row, kRows));
  for (int i = 0; i < row_tiles(c_); ++i) {
    const Reg number = k_.min(k_.add(first, i), last);
    const Reg tile = k_.mul(k_.convert(u64, number), static_cast<std::int64_t>(layout_.depth_tiles()));
    const Reg base = k_.fma(tile, kit::SparseLayout::kTileBytes, in_.metadata);
    k_.set(words_from_[static_cast<std::size_t>(i)], k_.mad_wide(in_.thread, 4, base));
  }
  for (int chunk = 0; chunk < chunks_; ++chunk) load(chunk);
}

void MainLoop::load(int chunk) {
  const Words& words = next_[static_cast<std::size_t>(chunk)];
  for (std::size_t unit = 0; unit < words.size(); ++unit)
    for (std::size_t i = 0; i < words_from_.size(); ++i)
      k_.emit(
          "ld.global.nc.b32", words[unit][i],
          k_.at(words_from_[i], (chunk * units_ + static_cast<int>(unit)) * kit::SparseLayout::kTileBytes));
}

// `next`: where the next k-block begins.
void MainLoop::multiply_chunk(int chunk, Reg next, Reg end, const std::array<Reg, 2>& low) {
  k_.comment("multiply: the metadata of a chunk, then its products");
  const Words& from = next_[static_cast<std::size_t>(chunk)];
  const Words& words = used_[static_cast<std::size_t>(chunk % 2)];
  for (std::size_t unit = 0; unit < words.size(); ++unit)
    for (std::size_t i = 0; i < words[unit].size(); ++i) k_.set(words[unit][i], from[unit][i]);
  if (chunk == 0)
    for (const Reg& address : words_from_)
      k_.emit("add.u64", address, address, std::int64_t{chunks_ * units_} * kit::SparseLayout::kTileBytes);
  k_.if_(k_.lt(next, end), [&] { load(chunk); });
  kit::wgmma_fence(k_);
  const int steps_of_unit = units_ == 2 ? 1 : 2;  // a unit is a tile of metadata
  for (int step = 0; step < 2; ++step) {
    const int depth = (2 * chunk + step) * depth_;
    const Reg b = activations_.descriptor(k_, low[1], 0, depth);
    for (int i = 0; i < row_tiles(c_); ++i) {
      const Reg a = values_.descriptor(k_, low[0], i * kRows, depth / 2);
      kit::wgmma_sparse(k_, mma_, accumulators_[static_cast<std::size_t>(i)][0], a, b,
                        words[static_cast<std::size_t>(step / steps_of_unit)][static_cast<std::size_t>(i)],
                        step % steps_of_unit, add_);
    }
  }
  kit::wgmma_commit(k_);
}

void MainLoop::release() {
  k_.comment("multiply: release the stage before");
  k_.warp_barrier();
  k_.guarded(releases_, [&] { pipeline_.release(released_); });
}

}  // namespace ptxloom::sparse_gemm::wgmma
