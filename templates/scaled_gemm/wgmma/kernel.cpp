// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/wgmma/kernel.hpp"

#include <utility>

#include "ptxloom/kit/warp_roles.hpp"
#include "scaled_gemm/products.hpp"
#include "scaled_gemm/wgmma/mainloop.hpp"
#include "scaled_gemm/wgmma/producer.hpp"
#include "scaled_gemm/wgmma/store.hpp"

namespace ptxloom::scaled_gemm::wgmma {
namespace {

constexpr const char* kName = "scaled_gemm";

class Generator {
 public:
  Generator(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p, const Config& c,
            const Plan& plan)
      : k_(std::move(specs), kName, target), p_(p), c_(c), plan_(plan) {}

  ir::Module run() {
    k_.require_block(static_cast<std::uint32_t>(threads(c_)));
    k_.min_blocks_per_sm(static_cast<std::uint32_t>(plan_.blocks_per_sm));
    k_.section("parameters");
    in_ = plan_.params(p_, c_).declare(k_);
    place();
    kit::Pipeline pipeline(k_, c_.stages, plan_.shared.address(k_, shared_, "barriers"), c_.share);
    kit::TileProblem problem = tile_problem(p_, in_, true);
    if (c_.stream_k) problem.division = plan_.shared.address(k_, shared_, "division");
    kit::TileScheduler tiles(k_, schedule(), problem);
    if (ByteDequantiser::table_bytes(p_) != 0) table_ = plan_.shared.address(k_, shared_, "table");
    ByteDequantiser::fill_table(k_, p_, table_, thread_);
    start(pipeline, tiles);
    kit::divide_roles(
        k_, warp_, c_.warps_n, [&] { Producer(k_, p_, c_, plan_, pipeline, in_, shared_).run(tiles); },
        [&] { multiply(tiles, pipeline); });
    k_.ret();
    return k_.finish();
  }

 private:
  kit::TileSchedule schedule() const {
    return {.tile_m = c_.tile_n,
            .tile_n = c_.tile_m,
            .tile_k = c_.tile_k,
            .pair = c_.share == 2 ? kit::TilePair::below : kit::TilePair::none,
            .split = c_.split,
            .known = kit::TileSchedule::Extents{p_.n, p_.m}};
  }

  void place() {
    k_.section("this thread's position");
    thread_ = k_.special("tid.x");
    warp_ = kit::uniform_warp(k_, thread_);
    shared_ = k_.address_of(k_.dynamic_shared("tiles", kit::TmaTile::kAlignment));
  }

  void start(kit::Pipeline& pipeline, kit::TileScheduler& tiles) {
    k_.section("the pipeline's barriers");
    k_.if_(k_.eq(thread_, 0), [&] {
      k_.emit("prefetch.tensormap", k_.at(in_["a"]));
      pipeline.initialise(c_.warps_n);
      if (c_.stream_k) tiles.divide();
    });
    c_.share == 1 ? k_.barrier() : k_.cluster_barrier();
  }

  void multiply(kit::TileScheduler& tiles, kit::Pipeline& pipeline) {
    k_.section("the consumer warpgroups: multiply, then store");
    const Reg group = k_.shr(warp_, 2), thread = k_.and_(thread_, kWarpgroupThreads - 1);
    Weights weights(k_, p_, c_, plan_,
                    {.stages = shared_,
                     .table = table_,
                     .warpgroup = group,
                     .thread = thread,
                     .k = in_["k"],
                     .scales = in_["scale_b"]});
    MainLoop loop(k_, p_, c_, plan_, pipeline, weights, {.stages = shared_, .lane = k_.and_(thread_, 31)});
    const Variant mma = with_a_in_registers(k_.specs(), opcode(p_, c_.tile_m));
    Store store(
        k_, p_, c_, plan_, mma, in_,
        {.warpgroup = group, .thread = thread, .stores = plan_.shared.address(k_, shared_, "stores")});
    if (c_.stream_k)
      share(tiles, loop, store, mma);
    else
      tiles.for_each([&](const kit::TilePortion& portion) {
        loop.run(portion.tile, portion.depth);
        finish(loop.accumulators(), portion.tile, store);
      });
    store.finish();
  }

  /// Stream-K: the portions of this thread block, then its slices of the tiles that it shares.
  void share(kit::TileScheduler& tiles, MainLoop& loop, Store& store, Variant mma) {
    kit::StreamKTile shape = stream_tile(c_);
    shape.mma = mma;
    kit::StreamKReduction reduction(
        k_, shape, plan_.stream->workspace, plan_.stream->reads,
        {.workspace = in_[kWorkspace], .shared = shared_, .thread = thread_, .barrier = warpgroups(c_) + 1});
    tiles.for_each([&](const kit::TilePortion& portion) {
      loop.run(portion.tile, portion.depth);
      k_.if_(
          portion.stream->whole, [&] { store.run(loop.accumulators(), portion.tile); },
          [&] {
            reduction.write_part(loop.accumulators(), tiles.shared(portion), rows_of_warp(portion.tile));
          });
    });
    tiles.for_each_shared([&](const kit::TileOrigin& tile, const kit::SharedTile& shared) {
      reduction.add(shared, rows_of_warp(tile), [&](const kit::Accumulators& unit, Reg row, Reg column) {
        store.run_unit(unit, tile, row, column);
      });
    });
  }

  /// Rows of the product, from the warp's first on.
  Reg rows_of_warp(const kit::TileOrigin& tile) {
    const Reg group = k_.fma(k_.shr(warp_, 2), row_tiles_of_warpgroup(c_) * kRows, tile.row);
    const Reg first = k_.fma(k_.and_(warp_, 3), kRows / 4, group);
    return KernelBuilder::as(s32, k_.sub(in_["n"], first));
  }

  void finish(const kit::Accumulators& accumulators, const kit::TileOrigin& tile, Store& store) {
    if (c_.split == 1) return store.run(accumulators, tile);
    const int registers = c_.tile_m / 2 / plan_.reduction.slices;
    const kit::ClusterReductionInputs in{.shared = shared_, .thread = thread_, .barrier = warpgroups(c_) + 1};
    kit::reduce_in_cluster(
        k_, plan_.reduction, accumulators, in,
        [&](const kit::Accumulators& slice, int number) { store.run(slice, tile, number * registers); });
  }

  KernelBuilder k_;
  const Problem& p_;
  const Config& c_;
  const Plan& plan_;
  kit::ParamRegs in_;
  Reg thread_, warp_, shared_, table_;
};

}  // namespace

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p,
                    const Config& c) {
  const Plan plan(target.info(), p, c);
  LaunchPlan launch{.entry = kName,
                    .grid = {static_cast<std::uint32_t>(grid(p, c)), 1, 1},
                    .block = {static_cast<std::uint32_t>(threads(c)), 1, 1},
                    .cluster = {static_cast<std::uint32_t>(c.split * c.share), 1, 1},
                    .shared_bytes = static_cast<std::uint32_t>(plan.shared_bytes),
                    .arguments = plan.params(p, c).arguments()};
  if (c.split == 1) launch.blocks_per_sm = static_cast<std::uint32_t>(plan.blocks_per_sm);
  if (plan.stream) {
    launch.grid[0] = plan.stream->blocks;
    launch.cooperative = true;
    launch.workspace_bytes = plan.stream->workspace.bytes;
  }
  return {.module = Generator(std::move(specs), target, p, c, plan).run(), .launches = {std::move(launch)}};
}

}  // namespace ptxloom::scaled_gemm::wgmma
