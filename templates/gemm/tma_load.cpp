// SPDX-License-Identifier: Apache-2.0
#include "tma_load.hpp"

#include <string>

namespace ptxloom::gemm_kernel {
namespace {

// The boxes of one operand. `extent`, `depth`: where its tile begins along m or n, and along k.
void copy_operand(KernelBuilder& k, const OperandTile& tile, Reg map, Reg to, Reg barrier, Reg extent,
                  Reg depth, const std::optional<Reg>& batch) {
  const auto moved = [&](Reg from, int by) { return by == 0 ? from : k.add(from, by); };
  for (int box = 0; box < tile.boxes(); ++box) {
    const Reg along_extent = moved(extent, tile.box_extent(box)), along_k = moved(depth, tile.box_depth(box));
    std::vector<Reg> at{along_k, along_extent};  // the contiguous dimension first
    if (tile.transposed()) std::swap(at[0], at[1]);
    if (tile.of_batches()) at.push_back(*batch);
    // PTX names what follows the map's address coordinates: {map, {x, y}}.
    k.emit("cp.async.bulk.tensor." + std::to_string(at.size()) +
               "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
           k.at(to, box * tile.box().bytes()), k.at(map), at, k.at(barrier));
  }
}

}  // namespace

void emit_loads(KernelBuilder& k, const Config& c, const WgmmaPlan& plan, TileScheduler& tiles,
                Pipeline& pipeline, const LoadInputs& in) {
  const Pipeline::Cursor cursor = pipeline.writer();
  tiles.for_each([&](const TileOrigin& tile) {
    const Reg depth = k.mov(u32, in.depth.begin);
    k.do_while([&] {
      k.pragma("\"nounroll\"");
      k.comment("load: wait for the stage to be empty");
      pipeline.await(pipeline.empty(cursor), cursor);
      k.comment("load: fill it with the next tiles of A and B along k");
      const Reg full = pipeline.full(cursor), stage = k.fma(cursor.stage, plan.stage_bytes, in.stages);
      k.emit("mbarrier.arrive.expect_tx.shared::cta.b64", Arg::sink(), k.at(full),
             plan.a.bytes() + plan.b.bytes());
      copy_operand(k, plan.a, in.a, stage, full, tile.row, depth, tile.batch);
      copy_operand(k, plan.b, in.b, k.add(stage, plan.b_at), full, tile.column, depth, tile.batch);
      pipeline.advance(cursor);
      k.emit("add.u32", depth, depth, c.tile_k);
      return k.lt(depth, in.depth.end);
    });
  });
}

}  // namespace ptxloom::gemm_kernel
