// SPDX-License-Identifier: Apache-2.0
#include "tma_load.hpp"

#include <string>

namespace ptxloom::gemm_kernel {
namespace {

constexpr std::int64_t kBothBlocks = 0b11;

struct TileCopy {
  const OperandTile& tile;
  Reg map;
  Reg extent;  ///< where the tile begins along m or n
  std::optional<Reg> batch;
};

class Loads {
 public:
  Loads(KernelBuilder& k, const Config& c) : k_(k) {
    if (c.sharing() == 1) return;
    rank_ = k.special("cluster_ctarank");
    both_ = k.mov(u16, kBothBlocks);
  }

  // The boxes of one operand; of one that two blocks share this block's rows of them, to both.
  void copy(const TileCopy& copy, Reg depth, Reg to, Reg barrier) {
    const OperandTile& tile = copy.tile;
    const bool shared = tile.sharing() > 1;
    Reg extent = copy.extent;
    if (shared) {
      Reg& along_rows = tile.transposed() ? depth : extent;
      along_rows = k_.fma(rank_, tile.copied_rows(), along_rows);
      to = k_.fma(rank_, tile.copied_rows() * tile.box().row_bytes, to);
    }
    const auto moved = [&](Reg from, int by) { return by == 0 ? from : k_.add(from, by); };
    for (int box = 0; box < tile.boxes(); ++box) {
      std::vector<Reg> at{moved(depth, tile.box_depth(box)), moved(extent, tile.box_extent(box))};
      if (tile.transposed()) std::swap(at[0], at[1]);  // the contiguous dimension first
      if (tile.of_batches()) at.push_back(*copy.batch);
      // PTX names what follows the map's address coordinates: {map, {x, y}}.
      const Address where = k_.at(to, box * tile.box().bytes());
      const std::string opcode = "cp.async.bulk.tensor." + std::to_string(at.size()) +
                                 "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";
      if (shared)
        k_.emit(opcode + ".multicast::cluster", where, k_.at(copy.map), at, k_.at(barrier), both_);
      else
        k_.emit(opcode, where, k_.at(copy.map), at, k_.at(barrier));
    }
  }

 private:
  KernelBuilder& k_;
  Reg rank_, both_;
};

}  // namespace

void emit_loads(KernelBuilder& k, const Config& c, const WgmmaPlan& plan, TileScheduler& tiles,
                Pipeline& pipeline, const LoadInputs& in) {
  const Pipeline::Cursor cursor = pipeline.writer();
  Loads loads(k, c);
  tiles.for_each([&](const Portion& portion) {
    const TileOrigin& tile = portion.tile;
    const Reg depth = k.mov(u32, portion.depth.begin);
    k.do_while([&] {
      k.pragma("\"nounroll\"");
      k.comment("load: wait for the stage to be empty");
      pipeline.await(pipeline.empty(cursor), cursor);
      k.comment("load: fill it with the next tiles of A and B along k");
      const Reg full = pipeline.full(cursor), stage = k.fma(cursor.stage, plan.stage_bytes, in.stages);
      k.emit("mbarrier.arrive.expect_tx.shared::cta.b64", Arg::sink(), k.at(full),
             plan.a.bytes() + plan.b.bytes() + plan.scales.bytes());
      loads.copy({plan.a, in.a, tile.row, tile.batch}, depth, stage, full);
      loads.copy({plan.b, in.b, tile.column, tile.batch}, depth, k.add(stage, plan.b_at), full);
      in.scales.copy({tile.row, tile.column, depth}, k.add(stage, plan.scales_at), full);
      pipeline.advance(cursor);
      k.emit("add.u32", depth, depth, c.tile_k);
      return k.lt(depth, portion.depth.end);
    });
  });
  if (c.sharing() > 1) pipeline.drain(cursor);
}

}  // namespace ptxloom::gemm_kernel
