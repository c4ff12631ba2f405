// SPDX-License-Identifier: Apache-2.0
#include "sparse_gemm/wgmma/kernel.hpp"

#include <utility>

#include "ptxloom/kit/warp_roles.hpp"
#include "sparse_gemm/results.hpp"
#include "sparse_gemm/wgmma/mainloop.hpp"

namespace ptxloom::sparse_gemm::wgmma {
namespace {

constexpr const char* kName = "sparse_gemm";

class Generator {
 public:
  Generator(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p, const Config& c,
            const Plan& plan)
      : k_(std::move(specs), kName, target), p_(p), c_(c), plan_(plan) {}

  ir::Module run() {
    k_.require_block(static_cast<std::uint32_t>(threads(c_)));
    k_.min_blocks_per_sm(static_cast<std::uint32_t>(plan_.blocks_per_sm));
    in_ = Plan::params(plan_, p_).declare(k_);
    thread_ = k_.special("tid.x");
    warp_ = kit::uniform_warp(k_, thread_);
    shared_ = k_.address_of(k_.dynamic_shared("tiles", kit::TmaTile::kAlignment));
    kit::Pipeline pipeline(k_, c_.stages, plan_.shared.address(k_, shared_, "barriers"), 1,
                           kit::StageReads::wgmma);
    kit::TileScheduler tiles(k_,
                             {.tile_m = c_.tile_n,
                              .tile_n = c_.tile_m,
                              .tile_k = c_.tile_k,
                              .known = kit::TileSchedule::Extents{p_.n, p_.m}},
                             {.m = in_["n"], .n = in_["m"], .k = in_["k"]});
    k_.if_(k_.eq(thread_, 0), [&] {
      for (const char* map : {"a", "values"}) k_.emit("prefetch.tensormap", k_.at(in_[map]));
      pipeline.initialise(c_.warps_n);
    });
    k_.barrier();
    kit::divide_roles(
        k_, warp_, c_.warps_n, [&] { load(tiles, pipeline); }, [&] { multiply(tiles, pipeline); });
    k_.ret();
    return k_.finish();
  }

 private:
  void load(kit::TileScheduler& tiles, kit::Pipeline& pipeline) {
    kit::TmaTileLoads loads(k_, 1);
    const kit::Pipeline::Cursor cursor = pipeline.producer();
    tiles.for_each([&](const kit::TilePortion& portion) {
      k_.for_(portion.depth.begin, portion.depth.end, c_.tile_k, [&](Reg depth) {
        k_.pragma("\"nounroll\"");
        fill(portion.tile, depth, pipeline, cursor, loads);
      });
    });
  }

  void fill(const kit::TileOrigin& tile, Reg depth, kit::Pipeline& pipeline,
            const kit::Pipeline::Cursor& cursor, kit::TmaTileLoads& loads) {
    pipeline.acquire(cursor);
    const Reg full = pipeline.full(cursor), stage = k_.fma(cursor.stage, plan_.stage_bytes, shared_);
    pipeline.expect(full, plan_.values.bytes() + plan_.activations.bytes());
    loads.load(plan_.values, in_["values"], {.extent = tile.row, .depth = k_.shr(depth, 1)},
               plan_.stage.address(k_, stage, "values"), full);
    loads.load(plan_.activations, in_["a"], {.extent = tile.column, .depth = depth},
               plan_.stage.address(k_, stage, "activations"), full);
    pipeline.advance(cursor);
  }

  void multiply(kit::TileScheduler& tiles, kit::Pipeline& pipeline) {
    k_.section("the consumer warpgroups: multiply, then store");
    const Reg group = k_.shr(warp_, 2), thread = k_.and_(thread_, kWarpgroupThreads - 1);
    MainLoop loop(k_, p_, c_, plan_, pipeline,
                  {.stages = shared_, .metadata = in_["metadata"], .warpgroup = group, .thread = thread});
    const Reg row = k_.fma(group, row_tiles(c_) * kRows, k_.mul(k_.and_(warp_, 3), kRows / 4));
    tiles.for_each([&](const kit::TilePortion& portion) {
      loop.run(portion);
      k_.comment("store: rows of D are columns of the product");
      store_transposed(k_, p_, in_, portion.tile,
                       {.mma = *find_mma(k_.specs(), k_.target(), p_, c_.tile_m),
                        .rows = kRows,
                        .columns = c_.tile_m,
                        .accumulators = loop.accumulators(),
                        .row = row,
                        .column = k_.mov(u32, 0),
                        .lane = k_.and_(thread_, 31)});
    });
  }

  KernelBuilder k_;
  const Problem& p_;
  const Config& c_;
  const Plan& plan_;
  kit::ParamRegs in_;
  Reg thread_, warp_, shared_;
};

}  // namespace

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p,
                    const Config& c) {
  const Plan plan(target.info(), p, c);
  LaunchPlan launch{.entry = kName,
                    .grid = {static_cast<std::uint32_t>(c.grid(p)), 1, 1},
                    .block = {static_cast<std::uint32_t>(threads(c)), 1, 1},
                    .shared_bytes = static_cast<std::uint32_t>(plan.shared_bytes),
                    .arguments = Plan::params(plan, p).arguments()};
  launch.blocks_per_sm = static_cast<std::uint32_t>(plan.blocks_per_sm);
  return {.module = Generator(std::move(specs), target, p, c, plan).run(), .launches = {std::move(launch)}};
}

}  // namespace ptxloom::sparse_gemm::wgmma
