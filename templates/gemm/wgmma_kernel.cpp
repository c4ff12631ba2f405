// SPDX-License-Identifier: Apache-2.0
#include "wgmma_kernel.hpp"

#include <fmt/format.h>

#include <tuple>

#include "cluster_sum.hpp"
#include "launch.hpp"
#include "tma_load.hpp"
#include "tma_store.hpp"
#include "wgmma_loop.hpp"

namespace ptxloom::gemm_kernel {
namespace {

bool by_copies(const Config& c, const WgmmaPlan& plan) { return c.staged && plan.copies_d; }

/// The matrices of batches that a kernel finds by pointer.
std::vector<std::string_view> pointers(const Problem& p, const Config& c, const WgmmaPlan& plan) {
  std::vector<std::string_view> names;
  if (p.reads_c()) names.emplace_back("c");
  if (!by_copies(c, plan)) names.emplace_back("d");
  return names;
}

class Generator {
 public:
  Generator(std::shared_ptr<const Specs> specs, const Target& target, const Problem& given,
            const Problem& seen, const Config& c, const WgmmaPlan& plan)
      : k_(std::move(specs), "gemm", target), p_(given), seen_(seen), c_(c), plan_(plan) {}

  ir::Module run() {
    k_.require_block(static_cast<std::uint32_t>(c_.threads()));
    k_.min_blocks_per_sm(static_cast<std::uint32_t>(plan_.blocks_per_sm));
    describe();
    parameters();
    place();
    Pipeline pipeline(k_, c_.stages, c_.sharing(), k_.add(shared_, plan_.barriers_at));
    start(pipeline);
    TileScheduler tiles(k_, seen_, c_, m_, n_, batches_);
    part_ = tiles.part(depth_);
    std::optional<Packing> packing = pack();
    k_.if_(
        k_.eq(warp_, c_.warps()), [&] { load(tiles, pipeline, packing); },
        [&] { multiply(tiles, pipeline); });
    k_.ret();
    return k_.finish();
  }

 private:
  void describe() {
    if (c_.swap) k_.header("rows of D are columns of the product: D^T = B^T A^T");
    const auto box = [](const Box& b) { return fmt::format("{} rows of {} bytes", b.rows, b.row_bytes); };
    for (const PackedMatrix* one : {&plan_.pack.a(), &plan_.pack.b()})
      if (one->packed)
        k_.header(
            fmt::format("{} is packed into rows of {} elements first", one->matrix.name, one->matrix.ld));
    k_.header(fmt::format("{} stages of {} bytes: {} in {} boxes of {}, {} in {} boxes of {}", c_.stages,
                          plan_.stage_bytes, seen_.a.name, plan_.a.boxes(), box(plan_.a.box()), seen_.b.name,
                          plan_.b.boxes(), box(plan_.b.box())));
    k_.header(fmt::format("{} warpgroups of {} x {} multiply{} and store D {}; one warp more loads",
                          c_.groups(), c_.group_m(), c_.group_n(), plan_.promotes ? ", promote" : "",
                          store_text(box(plan_.store))));
  }

  std::string store_text(const std::string& box) const {
    if (!c_.staged) return "from registers";
    return (plan_.copies_d ? "in boxes of " : "row by row in boxes of ") + box;
  }

  Reg size_parameter(const char* name, std::uint64_t value) {
    const Reg given = k_.param(u32, name);
    return c_.bake == Bake::mnk ? k_.mov(u32, value) : given;
  }

  void parameters() {
    k_.section("parameters");
    const Reg m = size_parameter("m", p_.m), n = size_parameter("n", p_.n);
    std::tie(m_, n_) = c_.places(m, n);
    depth_ = size_parameter("k", p_.k);
    const auto [packed_a, packed_b] = c_.places(&plan_.pack.a(), &plan_.pack.b());
    const Reg a = operand_map(p_.a, *packed_a), b = operand_map(p_.b, *packed_b);
    std::tie(a_, b_) = c_.places(a, b);
    if (plan_.pack.any()) workspace_ = k_.pointer(b8, "workspace").base;
    if (p_.reads_c()) c_source_.pointer = k_.pointer(p_.c.type, "c").base;
    by_copies() ? d_map_ = k_.tensor_map("d") : d_source_.pointer = k_.pointer(p_.d.type, "d").base;
    if (p_.reads_c()) c_source_.ld = size_parameter("ldc", p_.c.ld);
    if (!by_copies()) d_source_.ld = size_parameter("ldd", p_.d.ld);
    function_ = function_parameters(k_, p_);
    batches_ = batch_parameters(k_, p_, pointers(p_, c_, plan_), c_.bake == Bake::mnk);
  }

  bool by_copies() const { return gemm_kernel::by_copies(c_, plan_); }

  // Of a matrix that is packed the kernel has the address too.
  Reg operand_map(const Matrix& matrix, const PackedMatrix& packed) {
    if (!packed.packed) return k_.tensor_map(matrix.name);
    sources_.push_back({.from = matrix, .to = packed, .pointer = k_.pointer(matrix.type, matrix.name).base});
    return k_.tensor_map("packed_" + matrix.name);
  }

  std::optional<Packing> pack() {
    if (sources_.empty()) return std::nullopt;
    k_.section("pack: rows that tensor copies refuse");
    Packing packing(k_, plan_.pack, sources_, workspace_);
    packing.run(thread_);
    return packing;
  }

  void place() {
    k_.section("this thread's place");
    thread_ = k_.special("tid.x");
    lane_ = k_.and_(thread_, 31);
    // Read from lane 0, so that the linker knows that it is the same in the whole warp.
    warp_ = k_.reg(u32);
    k_.emit("shfl.sync.idx.b32", warp_, k_.shr(thread_, 5), 0, 31, -1);
    shared_ = k_.address_of(k_.dynamic_shared("tiles", 1024));
  }

  void start(Pipeline& pipeline) {
    k_.section("the pipeline's barriers");
    k_.if_(k_.eq(thread_, 0), [&] {
      k_.comment("the tensor maps, which the first copies would wait for");
      for (const Reg& map : {a_, b_}) k_.emit("prefetch.tensormap", k_.at(map));
      pipeline.initialise(c_.groups());
      k_.emit("fence.mbarrier_init.release.cluster");
    });
    if (c_.sharing() == 1) return k_.barrier();
    k_.emit("barrier.cluster.arrive.relaxed.aligned");  // the fence has released what there is
    k_.emit("barrier.cluster.wait.acquire.aligned");
  }

  void load(TileScheduler& tiles, Pipeline& pipeline, std::optional<Packing>& packing) {
    k_.section("the last warp: load");
    const Reg elected = k_.reg(pred);
    k_.emit("elect.sync", Arg::sink(), elected, -1);
    k_.if_(elected, [&] {
      if (packing) packing->await();
      emit_loads(k_, c_, plan_, tiles, pipeline, {.a = a_, .b = b_, .depth = part_, .stages = shared_});
    });
  }

  std::optional<BlockScales> block_scales() {
    if (!p_.function.by_block()) return std::nullopt;
    return BlockScales(k_, c_, function_,
                       {.m = m_,
                        .n = n_,
                        .depth = depth_,
                        .begin = part_.begin,
                        .lane = lane_,
                        .tiles = c_.group_m() / kWgmmaRows});
  }

  void multiply(TileScheduler& tiles, Pipeline& pipeline) {
    k_.section("the warpgroups: multiply, then store");
    const Reg group = k_.shr(warp_, 2), leads = k_.eq(k_.and_(thread_, kGroupThreads - 1), 0);
    const Reg none = k_.mov(u32, 0);
    const Reg row = c_.groups_m() > 1 ? k_.mul(group, c_.group_m()) : none;
    const Reg column = c_.warps_n > 1 ? k_.mul(group, c_.group_n()) : none;
    const Reg warp_row = k_.fma(k_.and_(warp_, kWarpsOfGroup - 1), 16, row);
    const Reg depth = c_.split > 1 ? k_.sub(part_.end, part_.begin) : depth_;
    std::optional<BlockScales> scales = block_scales();
    const WgmmaInputs in{.depth = depth,
                         .stages = shared_,
                         .row = row,
                         .column = column,
                         .leads = leads,
                         .scales = scales ? &*scales : nullptr};
    WgmmaLoop loop(k_, c_, plan_, pipeline, in);
    StoreInputs stores{.map = d_map_, .buffers = {}, .barrier = k_.add(group, 1), .leads = leads};
    if (c_.staged)
      stores.buffers = k_.fma(group, kStoreBuffers * plan_.store.bytes(), k_.add(shared_, plan_.stores_at));
    tiles.for_each([&](const TileOrigin& tile) {
      if (scales) scales->start(k_.add(tile.row, warp_row), k_.add(tile.column, column));
      loop.run();
      k_.comment("store: " + function_text(p_));
      const auto of_tile = [&](const Result& matrix, const ResultSource& source) {
        return ResultSource{of_batch(k_, batches_, matrix.name, matrix.type, source.pointer, tile.batch),
                            source.ld};
      };
      const auto [m, n] = c_.places(tile.rows, c_.places(m_, n_).second);
      EpilogueInputs result{.accumulators = {},
                            .row_order = {},
                            .column_order = {},
                            .m = m,
                            .n = n,
                            .block_row = tile.row,
                            .block_column = tile.column,
                            .warp_row = warp_row,
                            .warp_column = column,
                            .lane = lane_,
                            .thread = thread_,
                            .function = function_,
                            .c = of_tile(p_.c, c_source_),
                            .d = of_tile(p_.d, d_source_),
                            .shared = shared_};
      const ClusterSumInputs sum{.shared = shared_, .thread = thread_, .barrier = c_.groups() + 1};
      Config narrow = c_;  // as if the slice were all of the tile
      narrow.tile_n /= sum_slices(c_);
      emit_cluster_sum(k_, p_, c_, loop.accumulators(), sum, [&](const Accumulators& sums, int first) {
        result.accumulators = sums;
        result.warp_column = first == 0 ? column : k_.add(column, first);
        if (!c_.staged) return ResultPart(k_, p_, narrow, c_.swap ? swapped(result) : result).store();
        if (p_.d.stride > 0) stores.batch = tile.batch;
        if (p_.groups == GemmGroups::masked) stores.rows = tile.rows;
        stores.row = k_.add(tile.row, row);
        stores.column = k_.add(tile.column, result.warp_column);
        emit_tensor_stores(k_, p_, narrow, plan_, result, stores);
      });
    });
    if (by_copies()) await_tensor_stores(k_, stores);
  }

  KernelBuilder k_;
  const Problem& p_;     // as it is given: parameters and the result follow it
  const Problem& seen_;  // all else
  const Config& c_;
  const WgmmaPlan& plan_;
  Reg m_, n_, depth_, a_, b_, d_map_, workspace_;  // of the product that is computed
  std::vector<PackSource> sources_;
  FunctionInputs function_;
  BatchInputs batches_;
  ResultSource c_source_, d_source_;
  DepthPart part_;
  Reg thread_, lane_, warp_, shared_;
};

void add_operand(LaunchArgumentList& add, const OperandTile& tile, const std::string& name,
                 const PackedMatrix& packed) {
  const TensorMap map = tile.map(add.problem.batch);
  if (!packed.packed) return add.map(name, map);
  add.pointer(name);
  add.map_at("packed_" + name, map, packed.at);
}

/// Whole clusters that bring a warp for each piece.
std::uint32_t packing_blocks(const PackPlan& pack, const Config& c) {
  const auto warps = static_cast<std::uint32_t>(c.threads() / 32 * c.cluster());
  return (pack.pieces() + warps - 1) / warps * static_cast<std::uint32_t>(c.cluster());
}

LaunchPlan launch_plan(const Problem& p, const Problem& seen, const Config& c, const WgmmaPlan& plan) {
  LaunchPlan launch = tile_grid(seen, c);
  if (c.split == 1) launch.blocks_per_sm = static_cast<std::uint32_t>(plan.blocks_per_sm);
  launch.shared_bytes = static_cast<std::uint32_t>(plan.shared_bytes);
  if (c.split == 1) launch.grid[0] = std::max(launch.grid[0], packing_blocks(plan.pack, c));
  LaunchArgumentList add{p, launch.arguments};
  add.size("m", p.m), add.size("n", p.n), add.size("k", p.k);
  const auto [a, b] = c.places(&plan.a, &plan.b);
  const auto [packed_a, packed_b] = c.places(&plan.pack.a(), &plan.pack.b());
  add_operand(add, *a, p.a.name, *packed_a);
  add_operand(add, *b, p.b.name, *packed_b);
  if (plan.pack.any()) add.pointer(kWorkspace);
  launch.workspace_bytes = plan.pack.workspace_bytes();
  if (p.reads_c()) add.pointer("c");
  const bool copies_d = by_copies(c, plan);
  copies_d ? add.map("d", plan.store.map(p.d.type, p.n, p.m, p.d.ld, p.d.stride, p.batch)) : add.pointer("d");
  if (p.reads_c()) add.size("ldc", p.c.ld);
  if (!copies_d) add.size("ldd", p.d.ld);
  add_function_arguments(add, p);
  add_batch_arguments(add, pointers(p, c, plan));
  return launch;
}

}  // namespace

Emitted emit_wgmma_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                          const Config& config) {
  const Problem seen = seen_by(config, problem);
  const WgmmaPlan plan(target.info(), seen, config);
  const LaunchPlan launch = launch_plan(problem, seen, config, plan);
  return {Generator(std::move(specs), target, problem, seen, config, plan).run(), launch};
}

}  // namespace ptxloom::gemm_kernel
