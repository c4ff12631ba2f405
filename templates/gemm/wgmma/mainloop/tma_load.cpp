// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/mainloop/tma_load.hpp"

#include <string>

namespace ptxloom::gemm_kernel::wgmma {
namespace {

constexpr std::int64_t kBothBlocks = 0b11;

}  // namespace

StageLoads::StageLoads(KernelBuilder& k, const Config& config, const Plan& plan, Pipeline& pipeline,
                       const LoadInputs& in)
    : k_(k), c_(config), plan_(plan), pipeline_(pipeline), in_(in), cursor_(pipeline.writer()) {
  if (plan.a_passes || plan.b_passes) {
    passing_ = k.reg(b64);
    k.emit("createpolicy.fractional.L2::evict_first.b64", passing_);
  }
  if (config.sharing() == 1) return;
  rank_ = k.special("cluster_ctarank");
  both_ = k.mov(u16, kBothBlocks);
}

// Loads the boxes of one operand. If two thread blocks share it, each loads its rows of the boxes to both.
void StageLoads::copy(const OperandLoad& copy, Reg depth, Reg to, Reg barrier) {
  const OperandTile& tile = copy.tile;
  const bool shared = tile.sharing() > 1;
  Reg extent = copy.extent;
  if (shared) {
    Reg& along_rows = tile.transposed() ? depth : extent;
    along_rows = k_.fma(rank_, tile.loaded_rows(), along_rows);
    to = k_.fma(rank_, tile.loaded_rows() * tile.box().row_bytes, to);
  }
  const auto moved = [&](Reg from, int by) { return by == 0 ? from : k_.add(from, by); };
  for (int box = 0; box < tile.boxes(); ++box) {
    std::vector<Reg> at{moved(depth, tile.box_depth(box)), moved(extent, tile.box_extent(box))};
    if (tile.transposed()) std::swap(at[0], at[1]);  // the contiguous dimension first
    if (tile.of_batches()) at.push_back(*copy.batch);
    // In PTX the coordinates follow the map's address: {map, {x, y}}.
    const Address where = k_.at(to, box * tile.box().bytes());
    const std::string opcode = "cp.async.bulk.tensor." + std::to_string(at.size()) +
                               "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";
    const auto start = [&](const char* qualifiers, const auto&... last) {
      k_.emit(opcode + qualifiers, where, k_.at(copy.map), at, k_.at(barrier), last...);
    };
    if (shared && copy.passes)
      start(".multicast::cluster.L2::cache_hint", both_, passing_);
    else if (shared)
      start(".multicast::cluster", both_);
    else if (copy.passes)
      start(".L2::cache_hint", passing_);
    else
      start("");
  }
}

void StageLoads::fill(const kit::TileOrigin& tile, Reg depth) {
  k_.comment("load: wait for the stage to be empty");
  pipeline_.await(pipeline_.empty(cursor_), cursor_);
  k_.comment("load: fill it with the next k-block of A and B");
  const Reg full = pipeline_.full(cursor_), stage = k_.fma(cursor_.stage, plan_.stage_bytes, in_.stages);
  k_.emit("mbarrier.arrive.expect_tx.shared::cta.b64", Arg::sink(), k_.at(full),
          plan_.a.bytes() + plan_.b.bytes() + plan_.scales.bytes());
  copy({plan_.a, in_.a, tile.row, plan_.a_passes, tile.batch}, depth, stage, full);
  copy({plan_.b, in_.b, tile.column, plan_.b_passes, tile.batch}, depth, k_.add(stage, plan_.b_at), full);
  in_.scales.copy({tile.row, tile.column, depth}, k_.add(stage, plan_.scales_at), full);
  pipeline_.advance(cursor_);
}

void StageLoads::finish() {
  if (c_.sharing() > 1) pipeline_.drain(cursor_);
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
