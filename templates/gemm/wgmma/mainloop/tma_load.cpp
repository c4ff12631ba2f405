// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/mainloop/tma_load.hpp"

namespace ptxloom::gemm_kernel::wgmma {
namespace {

/// For operands that are streamed through L2, which need not keep them.
std::optional<Reg> policy(KernelBuilder& k, const Plan& plan) {
  if (!plan.a_passes && !plan.b_passes) return std::nullopt;
  return kit::evict_first_policy(k);
}

}  // namespace

StageLoads::StageLoads(KernelBuilder& k, const Config& config, const Plan& plan, kit::Pipeline& pipeline,
                       const LoadInputs& in)
    : k_(k),
      c_(config),
      plan_(plan),
      pipeline_(pipeline),
      in_(in),
      cursor_(pipeline.producer()),
      passing_(policy(k, plan)),
      tiles_(k, config.sharing()) {}

void StageLoads::fill(const kit::TileOrigin& tile, Reg depth) {
  k_.comment("load: wait for the stage to be empty");
  pipeline_.acquire(cursor_);
  k_.comment("load: fill it with the next k-block of A and B");
  const Reg full = pipeline_.full(cursor_), stage = k_.fma(cursor_.stage, plan_.stage_bytes, in_.stages);
  pipeline_.expect(full, plan_.a.bytes() + plan_.b.bytes() + plan_.scales.bytes());
  const auto load = [&](const kit::TmaTile& operand, Reg map, Reg extent, bool passes, Reg to) {
    tiles_.load(operand, map, {.extent = extent, .depth = depth, .batch = tile.batch}, to, full,
                passes ? passing_ : std::nullopt);
  };
  load(plan_.a, in_.a, tile.row, plan_.a_passes, stage);
  load(plan_.b, in_.b, tile.column, plan_.b_passes, plan_.stage.address(k_, stage, "b"));
  in_.scales.copy({tile.row, tile.column, depth}, plan_.stage.address(k_, stage, "scales"), full);
  pipeline_.advance(cursor_);
}

void StageLoads::finish() {
  if (c_.sharing() == 1) return;
  k_.comment("load: wait until the other thread block's warpgroups have released these stages");
  pipeline_.drain(cursor_);
}

void emit_loads(KernelBuilder& k, const Config& c, kit::TileScheduler& tiles, StageLoads& loads) {
  tiles.for_each([&](const kit::TilePortion& portion) {
    const Reg depth = k.mov(u32, portion.depth.begin);
    k.do_while([&] {
      k.pragma("\"nounroll\"");
      loads.fill(portion.tile, depth);
      k.emit("add.u32", depth, depth, c.tile_k);
      return k.lt(depth, portion.depth.end);
    });
  });
  loads.finish();
}

}  // namespace ptxloom::gemm_kernel::wgmma
