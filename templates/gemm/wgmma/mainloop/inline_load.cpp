// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/mainloop/inline_load.hpp"

namespace ptxloom::gemm_kernel::wgmma {
namespace {

constexpr int kBehind = 1;  // k-blocks: a stage is refilled this long after it was read

}  // namespace

InlineLoads::InlineLoads(KernelBuilder& k, const Config& config, kit::TileScheduler& tiles,
                         const StageLoads& loads, Reg warp, Reg depth)
    : k_(k),
      c_(config),
      tiles_(tiles),
      loads_(loads),
      depth_(depth),
      chosen_(k.reg(pred)),
      numbers_(tiles.numbers()),
      number_(k.mov(u32, numbers_.first)),
      at_(k.mov(u32, 0)),
      tile_{.row = k.reg(u32), .column = k.reg(u32), .rows = {}} {
  const Reg elected = k.elect(-1);
  k.emit("setp.eq.and.u32", chosen_, warp, 0, elected);
}

void InlineLoads::start(std::optional<kit::Packing>& packing) {
  if (packing) k_.if_(chosen_, [&] { packing->await(); });
  k_.for_(0, c_.stages - kBehind, 1, [&](Reg) {
    k_.pragma("\"nounroll\"");
    next();
  });
}

void InlineLoads::next() {
  const Reg more = k_.reg(pred);
  k_.emit("setp.lt.and.u32", more, number_, numbers_.end, chosen_);
  k_.if_(more, [&] {
    k_.if_(k_.eq(at_, 0), [&] {
      k_.comment("load: the next tile of this thread block");
      const kit::TileOrigin tile = tiles_.tile(number_);
      k_.emit("mov.u32", tile_.row, tile.row);
      k_.emit("mov.u32", tile_.column, tile.column);
      if (!tile.batch) return;
      if (!tile_.batch) tile_.batch = k_.reg(u32);
      k_.emit("mov.u32", *tile_.batch, *tile.batch);
    });
    loads_.fill(tile_, at_);
    const Reg deeper = k_.add(at_, c_.tile_k), done = k_.ge(deeper, depth_);
    k_.emit("selp.u32", at_, 0, deeper, done);
    k_.guarded(done, [&] { k_.emit("add.u32", number_, number_, numbers_.step); });
  });
}

void InlineLoads::finish() {
  if (c_.sharing() > 1) k_.if_(chosen_, [&] { loads_.finish(); });
}

}  // namespace ptxloom::gemm_kernel::wgmma
