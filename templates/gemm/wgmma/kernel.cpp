// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/kernel.hpp"

#include <fmt/format.h>

#include <tuple>

#include "gemm/launch/launch.hpp"
#include "gemm/reduction/cluster_reduction.hpp"
#include "gemm/reduction/stream_k_reduction.hpp"
#include "gemm/schedule/tile_scheduler.hpp"
#include "gemm/wgmma/launch.hpp"
#include "gemm/wgmma/mainloop/inline_load.hpp"
#include "gemm/wgmma/mainloop/mainloop.hpp"
#include "gemm/wgmma/tma_store.hpp"
#include "ptxloom/kit/warp_roles.hpp"

namespace ptxloom::gemm_kernel::wgmma {
namespace {

class Generator {
 public:
  Generator(std::shared_ptr<const Specs> specs, const Target& target, const Problem& given,
            const Problem& seen, const Config& c, const Plan& plan)
      : k_(std::move(specs), kernel_name(given, c), target), p_(given), seen_(seen), c_(c), plan_(plan) {}

  ir::Module run() {
    k_.require_block(static_cast<std::uint32_t>(c_.threads()));
    k_.min_blocks_per_sm(static_cast<std::uint32_t>(plan_.blocks_per_sm));
    describe();
    parameters();
    place();
    kit::Pipeline pipeline(k_, c_.stages, plan_.shared.address(k_, shared_, "barriers"), c_.sharing(),
                           plan_.scales.any() ? kit::StageReads::loads : kit::StageReads::wgmma);
    kit::TileScheduler tiles = tile_scheduler(k_, seen_, c_, m_, n_, depth_, batches_, division());
    start(pipeline, tiles);
    std::optional<kit::Packing> packing = pack();
    if (c_.wgmma.producer_warp())
      kit::divide_roles(
          k_, warp_, c_.warps(), [&] { load(tiles, pipeline, packing); },
          [&] { multiply(tiles, pipeline, nullptr); });
    else
      load_between(tiles, pipeline, packing);
    k_.ret();
    return k_.finish();
  }

 private:
  void describe() {
    if (c_.swap) k_.header("computes the transpose, D^T = B^T A^T: rows of D are columns of the product");
    const auto box = [](const kit::TmaBox& b) {
      return fmt::format("{} rows of {} bytes", b.rows, b.row_bytes);
    };
    const auto packed = [&](const Matrix& given, const kit::PackedMatrix& one) {
      if (one.packed)
        k_.header(fmt::format("{} is packed into rows of {} elements first", given.name, one.matrix.ld));
    };
    packed(seen_.a, plan_.pack.a());
    packed(seen_.b, plan_.pack.b());
    k_.header(fmt::format("{} stages of {} bytes: {} in {} boxes of {}, {} in {} boxes of {}", c_.stages,
                          plan_.stage_bytes, seen_.a.name, plan_.a.boxes(), box(plan_.a.box()), seen_.b.name,
                          plan_.b.boxes(), box(plan_.b.box())));
    k_.header(fmt::format(
        "consumer warpgroups: {} of {} x {}{}{}; D is stored {}; {} issues the loads", warpgroups(c_),
        warpgroup_m(c_), warpgroup_n(c_), plan_.promotes ? ", accumulators promoted" : "",
        c_.tiles_in_flight() > 1 ? ", each with its own tiles" : "", store_text(box(plan_.store)),
        c_.wgmma.producer_warp() ? "a producer warp" : "one of their threads"));
    if (plan_.stream)
      k_.header(fmt::format("stream-K: up to {} thread blocks{} share the {} k-blocks of all tiles",
                            plan_.stream->blocks, c_.sharing() > 1 ? ", in pairs," : "",
                            stream_k_blocks(seen_, c_)));
  }

  std::string store_text(const std::string& box) const {
    if (!c_.staged) return "from registers";
    return (plan_.tma_stores_d ? "in boxes of " : "row by row in boxes of ") + box;
  }

  void parameters() {
    k_.section("parameters");
    const kit::ParamRegs in = wgmma::parameters(p_, c_, plan_).declare(k_);
    std::tie(m_, n_) = c_.places(in["m"], in["n"]);
    depth_ = in["k"];
    const auto [packed_a, packed_b] = c_.places(&plan_.pack.a(), &plan_.pack.b());
    const Reg a = operand_map(in, p_.a, *packed_a), b = operand_map(in, p_.b, *packed_b);
    std::tie(a_, b_) = c_.places(a, b);
    if (plan_.workspace_bytes() > 0) workspace_ = in[kWorkspace];
    if (p_.reads_c()) c_pointer_ = in["c"], ldc_ = in["ldc"];
    if (stores_by_tma()) d_map_ = in[map_of_d(c_)];
    if (stores_by_pointer()) d_pointer_ = in["d"], ldd_ = in["ldd"];
    terms_ = term_inputs(in, p_);
    batches_ = batch_inputs(in, p_);
  }

  bool stores_by_tma() const { return wgmma::stores_by_tma(c_, plan_); }
  bool stores_by_pointer() const { return wgmma::stores_by_pointer(c_, plan_); }

  // If the matrix is packed, the kernel has its address too.
  Reg operand_map(const kit::ParamRegs& in, const Matrix& matrix, const kit::PackedMatrix& packed) {
    if (!packed.packed) return in[matrix.name];
    sources_.push_back({.from = matrix, .to = packed, .pointer = in[matrix.name]});
    return in["packed_" + matrix.name];
  }

  std::optional<kit::Packing> pack() {
    if (sources_.empty()) return std::nullopt;
    k_.section("pack: rows whose pitch TMA does not take");
    kit::Packing packing(k_, plan_.pack, sources_, workspace_);
    packing.run(thread_, c_.threads() / 32);
    return packing;
  }

  void place() {
    k_.section("this thread's position");
    thread_ = k_.special("tid.x");
    lane_ = k_.and_(thread_, 31);
    warp_ = kit::uniform_warp(k_, thread_);
    shared_ = k_.address_of(k_.dynamic_shared("tiles", kit::TmaTile::kAlignment));
  }

  std::optional<Reg> division() {
    if (!plan_.stream) return std::nullopt;
    return plan_.shared.address(k_, shared_, "division");
  }

  void start(kit::Pipeline& pipeline, kit::TileScheduler& tiles) {
    k_.section("the pipeline's barriers");
    k_.if_(k_.eq(thread_, 0), [&] {
      k_.comment("prefetch the tensor maps, which the first loads would wait for");
      for (const Reg& map : {a_, b_}) k_.emit("prefetch.tensormap", k_.at(map));
      for (const auto& [name, map] : terms_.blocks) k_.emit("prefetch.tensormap", k_.at(map));
      pipeline.initialise(plan_.readers);
      if (plan_.stream) tiles.divide();
    });
    if (c_.sharing() == 1 || plan_.stream) k_.barrier();
    if (c_.sharing() == 1) return;
    k_.emit("barrier.cluster.arrive.relaxed.aligned");  // the fence has released everything so far
    k_.emit("barrier.cluster.wait.acquire.aligned");
  }

  void load(kit::TileScheduler& tiles, kit::Pipeline& pipeline, std::optional<kit::Packing>& packing) {
    if (packing) packing->await();
    StageLoads loads = stage_loads(pipeline);
    emit_loads(k_, c_, tiles, loads);
  }

  StageLoads stage_loads(kit::Pipeline& pipeline) {
    const ScaleLoads scales(k_, plan_.scales, {k_, m_, depth_}, terms_.blocks);
    return {k_, c_, plan_, pipeline, {.a = a_, .b = b_, .stages = shared_, .scales = scales}};
  }

  void load_between(kit::TileScheduler& tiles, kit::Pipeline& pipeline,
                    std::optional<kit::Packing>& packing) {
    k_.section("the first warp: load all stages but one");
    InlineLoads loads(k_, c_, tiles, stage_loads(pipeline), warp_, depth_);
    loads.start(packing);
    multiply(tiles, pipeline, &loads);
    loads.finish();
  }

  std::optional<StagedScales> staged_scales() {
    if (!plan_.scales.any()) return std::nullopt;
    return StagedScales(k_, c_, plan_, {k_, m_, depth_},
                        {.stages = shared_, .row = warp_row_, .column = column_, .lane = lane_});
  }

  void multiply(kit::TileScheduler& tiles, kit::Pipeline& pipeline, InlineLoads* loads) {
    k_.section("the consumer warpgroups: multiply, then store");
    const Reg group = k_.shr(warp_, 2);
    const std::optional<Turn> turn = turn_of(group);
    const Reg none = k_.mov(u32, 0);
    leads_ = k_.eq(k_.and_(thread_, kWarpgroupThreads - 1), 0);
    row_ = warpgroups_m(c_) > 1 ? k_.mul(group, warpgroup_m(c_)) : none;
    column_ = c_.warps_n > 1 ? k_.mul(group, warpgroup_n(c_)) : none;
    warp_row_ = k_.fma(k_.and_(warp_, kWarpsOfWarpgroup - 1), 16, row_);
    std::optional<StagedScales> scales = staged_scales();
    const MainLoopInputs in{.stages = shared_,
                            .row = row_,
                            .column = column_,
                            .turn = turn,
                            .releases = scales ? k_.eq(lane_, 0) : leads_,
                            .scales = scales ? &*scales : nullptr,
                            .loads = loads};
    MainLoop loop(k_, c_, plan_, pipeline, in);
    std::optional<kit::StreamKReduction> sums = stream_reduction();
    StoreInputs stores{
        .map = d_map_, .buffers = {}, .barrier = k_.add(group, 1), .thread = thread_, .leads = leads_};
    if (c_.staged)
      stores.buffers =
          k_.fma(group, kStoreBuffers * plan_.store.bytes(), plan_.shared.address(k_, shared_, "stores"));
    const auto compute = [&](const kit::TilePortion& portion) {
      const kit::TileOrigin& tile = portion.tile;
      if (scales) scales->start(tile.row, k_.add(tile.column, column_), portion.depth.begin);
      loop.run(k_.sub(portion.depth.end, portion.depth.begin));
      const auto store = [&] { store_tile(loop.accumulators(), tile, stores); };
      if (!sums) return store();
      k_.if_(portion.stream->whole, store,
             [&] { sums->write_part(loop.accumulators(), tiles.shared(portion), rows_of_warp(tile)); });
    };
    tiles.for_each(compute, turn ? std::optional(turn->number) : std::nullopt);
    if (sums) store_shared_tiles(tiles, *sums);
    if (stores_by_tma()) await_tma_stores(k_, stores);
  }

  std::optional<Turn> turn_of(Reg group) {
    if (c_.tiles_in_flight() == 1) return std::nullopt;
    return Turn{.number = group,
                .stages = k_.div(k_.add(depth_, c_.tile_k - 1), c_.tile_k),
                .barrier = k_.add(group, own_barrier()),
                .other = k_.sub(own_barrier() + 1, group)};
  }

  /// Rows and columns of the accumulators that lie in D.
  std::pair<Reg, Reg> extents(const kit::TileOrigin& tile) const {
    return c_.places(tile.rows, c_.places(m_, n_).second);
  }

  /// What the epilogues of a tile have in common.
  kit::TileResultInputs result_of(const kit::TileOrigin& tile) {
    const auto of_tile = [&](const Result& matrix, Reg pointer, Reg ld) {
      return result_matrix(p_, matrix, of_batch(k_, batches_, matrix.name, matrix.type, pointer, tile.batch),
                           ld);
    };
    const auto [m, n] = extents(tile);
    return {.mma = c_.mma,
            .mma_rows = c_.mma_m,
            .mma_columns = c_.mma_n,
            .accumulators = {},
            .rows = m,
            .columns = n,
            .block_row = tile.row,
            .block_column = tile.column,
            .warp_row = warp_row_,
            .warp_column = column_,
            .lane = lane_,
            .terms = terms_.terms,
            .c = of_tile(p_.c, c_pointer_, ldc_),
            .d = of_tile(p_.d, d_pointer_, ldd_)};
  }

  void store_tile(const kit::Accumulators& accumulators, const kit::TileOrigin& tile, StoreInputs& stores) {
    k_.comment("store: " + epilogue_text(p_));
    kit::TileResultInputs result = result_of(tile);
    const kit::ClusterReductionInputs sum{.shared = shared_, .thread = thread_, .barrier = own_barrier()};
    Config narrow = c_;  // as if the slice were the whole tile
    narrow.tile_n /= reduction_slices(c_);
    emit_cluster_reduction(k_, p_, c_, accumulators, sum, [&](const kit::Accumulators& sums, int first) {
      result.accumulators = sums;
      result.warp_column = first == 0 ? column_ : k_.add(column_, first);
      if (!c_.staged) return store_elements(result);
      if (p_.d.stride > 0) stores.batch = tile.batch;
      if (p_.groups == GemmGroups::masked) stores.rows = tile.rows;
      stores.row = k_.add(tile.row, row_);
      stores.column = k_.add(tile.column, result.warp_column);
      emit_tma_stores(k_, narrow, plan_, result, stores);
    });
  }

  void store_elements(const kit::TileResultInputs& result) {
    kit::TileResult(k_, c_.swap ? kit::swapped(result) : result).store();
  }

  /// The first barrier number that no warpgroup uses.
  int own_barrier() const { return warpgroups(c_) + 1; }

  // ---- stream-K

  std::optional<kit::StreamKReduction> stream_reduction() {
    if (!c_.stream_k) return std::nullopt;
    return kit::StreamKReduction(
        k_, stream_tile(seen_, c_), plan_.stream->workspace, plan_.stream->reads,
        {.workspace = workspace_, .shared = shared_, .thread = thread_, .barrier = own_barrier()});
  }

  /// Rows of accumulators that lie in D, from the warp's first on.
  Reg rows_of_warp(const kit::TileOrigin& tile) {
    return KernelBuilder::as(s32, k_.sub(extents(tile).first, k_.add(tile.row, warp_row_)));
  }

  void store_shared_tiles(kit::TileScheduler& tiles, kit::StreamKReduction& sums) {
    tiles.for_each_shared([&](const kit::TileOrigin& tile, const kit::SharedTile& shared) {
      kit::TileResultInputs result = result_of(tile);
      sums.add(shared, rows_of_warp(tile), [&](const kit::Accumulators& unit, Reg row, Reg column) {
        result.accumulators = unit;
        result.warp_row = k_.add(warp_row_, row);
        result.warp_column = k_.add(column_, column);
        store_elements(result);
      });
    });
  }

  KernelBuilder k_;
  const Problem& p_;     // as given: parameters and the result follow it
  const Problem& seen_;  // as the configuration sees it: all else
  const Config& c_;
  const Plan& plan_;
  Reg m_, n_, depth_, a_, b_, d_map_, workspace_;  // of the product that is computed
  std::vector<kit::PackSource> sources_;
  TermInputs terms_;
  BatchInputs batches_;
  Reg c_pointer_, ldc_, d_pointer_, ldd_;
  Reg thread_, lane_, warp_, shared_;
  Reg leads_, row_, column_, warp_row_;  // of a warpgroup in the thread block's tile; of a warp
};

}  // namespace

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                    const Config& config) {
  const Problem seen = seen_by(config, problem);
  const Plan plan(target.info(), seen, config);
  const LaunchPlan launch = launch_plan(problem, seen, config, plan);
  return {Generator(std::move(specs), target, problem, seen, config, plan).run(), {launch}};
}

}  // namespace ptxloom::gemm_kernel::wgmma
