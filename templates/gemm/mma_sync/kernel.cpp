// SPDX-License-Identifier: Apache-2.0
#include "gemm/mma_sync/kernel.hpp"

#include <fmt/format.h>

#include "gemm/epilogue/block_scales.hpp"
#include "gemm/launch/launch.hpp"
#include "gemm/mma_sync/choice.hpp"
#include "gemm/mma_sync/epilogue.hpp"
#include "gemm/mma_sync/launch.hpp"
#include "gemm/reduction/cluster_reduction.hpp"
#include "gemm/reduction/stream_k_reduction.hpp"
#include "gemm/schedule/tile_scheduler.hpp"
#include "ptxloom/kit/fragments.hpp"
#include "ptxloom/kit/mma.hpp"
#include "ptxloom/kit/tile_copy.hpp"

namespace ptxloom::gemm_kernel::mma_sync {
namespace {

struct Operand {
  kit::TileCopy copy;
  kit::Fragments fragments;
  std::vector<kit::Fragments::Tiles> sets;  // registers of two k-steps: one in use, one being loaded
};

/// A tile, or a portion of one, as if its part of k were all of k.
struct Work {
  kit::TileOrigin tile;
  Reg a, b;          // addresses of the first elements
  Reg begin, depth;  // of k
};

class Generator {
 public:
  Generator(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p, const Config& c,
            const std::optional<StreamPlan>& stream)
      : k_(std::move(specs), kernel_name(p, c), target),
        p_(p),
        c_(c),
        stream_(stream),
        stage_(stage_layout(p, c)),
        stage_bytes_(stage_.pitch()) {}

  ir::Module run() {
    k_.require_block(static_cast<std::uint32_t>(c_.threads()));
    k_.min_blocks_per_sm(1);  // else ptxas may save registers for thread blocks that do not fit into shared
                              // memory
    if (stream_)
      k_.header(fmt::format("stream-K: up to {} thread blocks share the {} k-blocks of all tiles",
                            stream_->blocks, stream_k_blocks(p_, c_)));
    parameters();
    place();
    kit::TileScheduler tiles = tile_scheduler(k_, p_, c_, m_, n_, depth_, batches_, division());
    stream_ ? compute_portions(tiles) : compute_tile(tiles);
    k_.ret();
    return k_.finish();
  }

 private:
  void parameters() {
    k_.section("parameters");
    const kit::ParamRegs in = mma_sync::parameters(p_, c_, stream_).declare(k_);
    m_ = in["m"], n_ = in["n"], depth_ = in["k"];
    a_ = in["a"], b_ = in["b"], d_pointer_ = in["d"];
    lda_ = in["lda"], ldb_ = in["ldb"], ldd_ = in["ldd"];
    if (stream_) workspace_ = in[kWorkspace];
    if (p_.reads_c()) c_pointer_ = in["c"], ldc_ = in["ldc"];
    terms_ = term_inputs(in, p_);
    batches_ = batch_inputs(in, p_);
  }

  void place() {
    k_.section("this warp's part of the tile of D");
    thread_ = k_.special("tid.x");
    lane_ = k_.and_(thread_, 31);
    const Reg warp = k_.shr(thread_, 5);
    warp_row_ = k_.mul(k_.rem(warp, c_.warps_m), c_.warp_m());
    warp_column_ = k_.mul(k_.div(warp, c_.warps_m), c_.warp_n());
    shared_ = k_.address_of(k_.dynamic_shared("tiles", 1024));
  }

  void compute_tile(kit::TileScheduler& tiles) {
    k_.section("this thread block's tile of D");
    const kit::TileOrigin tile = tiles.own();
    compute(work({.tile = tile, .depth = tiles.part()}));
    epilogue(tile);
  }

  // ---- stream-K

  std::optional<Reg> division() {
    if (!stream_) return std::nullopt;
    return shared_layout(p_, c_).address(k_, shared_, "division");
  }

  void compute_portions(kit::TileScheduler& tiles) {
    k_.if_(k_.eq(thread_, 0), [&] { tiles.divide(); });
    k_.barrier();
    kit::StreamKReduction reduction(
        k_, stream_tile(p_, c_), stream_->workspace, stream_->reads,
        {.workspace = workspace_, .shared = shared_, .thread = thread_, .barrier = kBarrier});
    tiles.for_each([&](const kit::TilePortion& portion) {
      k_.comment("stream-K: nobody reads the stages, or the D staged there, any more");
      k_.barrier();
      compute(work(portion));
      k_.if_(
          portion.stream->whole, [&] { epilogue(portion.tile); },
          [&] { reduction.write_part(sums(), tiles.shared(portion), rows_of_warp(portion.tile)); });
    });
    tiles.for_each_shared([&](const kit::TileOrigin& tile, const kit::SharedTile& shared) {
      kit::TileResultInputs result = result_of(tile);
      reduction.add(shared, rows_of_warp(tile), [&](const kit::Accumulators& unit, Reg row, Reg column) {
        result.accumulators = unit;
        result.warp_row = k_.add(warp_row_, result.row_order.origin(k_, row));
        result.warp_column = k_.add(warp_column_, result.column_order.origin(k_, column));
        kit::TileResult(k_, result).store();
      });
    });
  }

  // Rows of accumulators that lie in D, from the warp's first on, rounded up to sixteen: the fragment order
  // may permute rows within sixteen.
  Reg rows_of_warp(const kit::TileOrigin& tile) {
    const Reg rows = k_.sub(tile.rows, k_.add(tile.row, warp_row_));
    return KernelBuilder::as(s32, k_.and_(k_.add(rows, 15), ~15));
  }

  // ---- the accumulators of a part of k of a tile

  bool all_of_k() const { return c_.split == 1 && !stream_; }

  Work work(const kit::TilePortion& portion) {
    const kit::TileOrigin& tile = portion.tile;
    const Reg begin = portion.depth.begin;
    const auto first = [&](const Matrix& matrix, Reg pointer, Reg ld) {
      const int size = matrix.type.bytes();
      pointer = of_batch(k_, batches_, matrix.name, matrix.type, pointer, tile.batch);
      if (all_of_k()) return pointer;
      if (matrix.k_contiguous) return k_.mad_wide(begin, size, pointer);
      return k_.fma(k_.convert(u64, begin), k_.mul_wide(ld, size), pointer);
    };
    return {.tile = tile,
            .a = first(p_.a, a_, lda_),
            .b = first(p_.b, b_, ldb_),
            .begin = begin,
            .depth = all_of_k() ? depth_ : k_.sub(portion.depth.end, begin)};
  }

  void compute(const Work& work) {
    Operand a =
        operand(plan_a(p_, c_), {work.a, lda_, work.tile.row, m_, work.depth, shared_, thread_}, warp_row_);
    const Reg b_tile = stage_.address(k_, shared_, "b");
    Operand b = operand(plan_b(p_, c_), {work.b, ldb_, work.tile.column, n_, work.depth, b_tile, thread_},
                        warp_column_);
    start_scales(work);
    accumulate(a, b, work.depth);
  }

  const kit::Accumulators& sums() const { return scales_ ? scaled_ : accumulators_; }

  void start_scales(const Work& work) {
    if (!p_.terms.by_block()) return;
    scales_.emplace(k_, c_, terms_,
                    BlockScaleInputs{.m = m_,
                                     .n = n_,
                                     .depth = depth_,
                                     .lane = lane_,
                                     .tiles = c_.warp_m() / c_.mma_m,
                                     .rows = kit::fragment_order(p_.a.type, p_.a.k_contiguous)});
    scales_->start(k_.add(work.tile.row, warp_row_), k_.add(work.tile.column, warp_column_), work.begin);
  }

  Operand operand(const OperandPlan& plan, const kit::TileCopyInputs& in, Reg warp_origin) {
    k_.section(fmt::format("{}: what this thread loads to shared memory, and the fragments of this lane",
                           plan.name));
    const Type type = plan.matrix.type;
    const bool k_contiguous = plan.matrix.k_contiguous;
    const kit::SwizzledTile tile = kit::fragment_tile(type, k_contiguous, plan.tile, c_.tile_k);
    const kit::TileCopyShape copied{.type = type,
                                    .k_contiguous = k_contiguous,
                                    .access = plan.access,
                                    .threads = c_.threads(),
                                    .whole_extent = plan.whole_extent,
                                    .whole_k = plan.whole_k};
    const kit::FragmentShape loaded{
        .mma = c_.mma, .operand = plan.name, .type = type, .k_contiguous = k_contiguous, .extent = plan.warp};
    Operand made{.copy = kit::TileCopy(k_, copied, tile, in),
                 .fragments = kit::Fragments(k_, loaded, tile, {in.shared, warp_origin, lane_}),
                 .sets = {}};
    for (int i = 0; i < 2; ++i) made.sets.push_back(made.fragments.allocate());
    return made;
  }

  // ---- the pipeline

  void copy_tiles(Operand& a, Operand& b, Reg stage) {
    a.copy.issue(stage);
    b.copy.issue(stage);
  }

  // The most recent copies form one group, which completes as a whole.
  void finish_copies(Operand& a, Operand& b) {
    a.copy.land();
    b.copy.land();
    if (a.copy.asynchronous() || b.copy.asynchronous()) k_.emit("cp.async.commit_group");
  }

  // Waits until the stage that is read next has arrived, for all threads.
  void await_stage(const Operand& a, const Operand& b) {
    if (a.copy.asynchronous() || b.copy.asynchronous()) k_.emit("cp.async.wait_group", c_.stages - 2);
    k_.barrier();
  }

  // Starts all stages but one. It stays a loop although the count is known: it runs once, and unrolled code
  // would take as long to link as to run.
  Reg fill(Operand& a, Operand& b) {
    const Reg stage = k_.mov(u32, 0);
    k_.do_while([&] {
      k_.pragma("\"nounroll\"");
      copy_tiles(a, b, stage);
      finish_copies(a, b);
      k_.emit("add.u32", stage, stage, stage_bytes_);
      return k_.lt(stage, (c_.stages - 1) * stage_bytes_);
    });
    await_stage(a, b);
    return stage;
  }

  void next_stage(Reg offset) {
    k_.emit("add.u32", offset, offset, stage_bytes_);
    const Reg wrapped = k_.eq(offset, c_.stages * stage_bytes_);
    k_.emit("selp.b32", offset, 0, offset, wrapped);
  }

  void read_from(Operand& a, Operand& b, Reg offset) {
    a.fragments.set_stage(offset);
    b.fragments.set_stage(offset);
  }

  void load_step(Operand& a, Operand& b, int step) {
    a.fragments.load(step, a.sets[static_cast<std::size_t>(step % 2)]);
    b.fragments.load(step, b.sets[static_cast<std::size_t>(step % 2)]);
  }

  void accumulate(Operand& a, Operand& b, Reg depth) {
    k_.section("accumulators");
    kit::MmaTiles tiles(k_, c_.mma, c_.warp_m(), c_.warp_n());
    accumulators_ = tiles.zeros();
    if (scales_) scaled_ = tiles.zeros();
    k_.section("fill the pipeline");
    const Reg writing = fill(a, b), reading = k_.mov(u32, 0);
    const Reg tiles_left = k_.mov(s32, k_.div(k_.add(depth, c_.tile_k - 1), c_.tile_k));
    if (c_.mma_sync.across_k_blocks) {
      read_from(a, b, reading);
      load_step(a, b, 0);
    }

    k_.section("main loop: one k-block each time");
    k_.do_while([&] {
      k_.pragma("\"nounroll\"");
      read_from(a, b, reading);
      if (!c_.mma_sync.across_k_blocks) load_step(a, b, 0);
      const int steps = c_.k_steps();
      for (int step = 0; step < steps; ++step) {
        k_.comment(fmt::format("k step {} of {}", step + 1, steps));
        if (step + 1 < steps)
          load_step(a, b, step + 1);
        else if (c_.mma_sync.across_k_blocks)
          load_step(a, b, 0);
        if (step == 0) a.copy.issue(writing);
        if (step == std::min(1, steps - 2)) b.copy.issue(writing);
        tiles.multiply(a.sets[static_cast<std::size_t>(step % 2)], b.sets[static_cast<std::size_t>(step % 2)],
                       accumulators_, scales_ && step == 0);
        if (step != steps - 2) continue;
        finish_copies(a, b);
        await_stage(a, b);
        next_stage(reading);
        next_stage(writing);
        if (c_.mma_sync.across_k_blocks) read_from(a, b, reading);
      }
      if (scales_) scales_->add(accumulators_, scaled_);
      k_.emit("sub.s32", tiles_left, tiles_left, 1);
      return k_.gt(tiles_left, 0);
    });
    if (a.copy.asynchronous() || b.copy.asynchronous()) k_.emit("cp.async.wait_all");
  }

  /// What the epilogues of a tile have in common.
  kit::TileResultInputs result_of(const kit::TileOrigin& tile) {
    const auto of_tile = [&](const Result& matrix, Reg pointer, Reg ld) {
      return result_matrix(p_, matrix, of_batch(k_, batches_, matrix.name, matrix.type, pointer, tile.batch),
                           ld);
    };
    return {.mma = c_.mma,
            .mma_rows = c_.mma_m,
            .mma_columns = c_.mma_n,
            .accumulators = {},
            .row_order = kit::fragment_order(p_.a.type, p_.a.k_contiguous),
            .column_order = kit::fragment_order(p_.b.type, p_.b.k_contiguous),
            .rows = tile.rows,
            .columns = n_,
            .block_row = tile.row,
            .block_column = tile.column,
            .warp_row = warp_row_,
            .warp_column = warp_column_,
            .lane = lane_,
            .terms = terms_.terms,
            .c = of_tile(p_.c, c_pointer_, ldc_),
            .d = of_tile(p_.d, d_pointer_, ldd_)};
  }

  void epilogue(const kit::TileOrigin& tile) {
    k_.section("epilogue: " + epilogue_text(p_));
    kit::TileResultInputs result = result_of(tile);
    emit_cluster_reduction(k_, p_, c_, sums(), {.shared = shared_, .thread = thread_, .barrier = kBarrier},
                           [&](const kit::Accumulators& sums, int) {
                             result.accumulators = sums;
                             emit_epilogue(k_, c_, result, {.shared = shared_, .thread = thread_});
                           });
  }

  static constexpr int kBarrier = 0;  // the barrier of the whole thread block

  KernelBuilder k_;
  const Problem& p_;
  const Config& c_;
  const std::optional<StreamPlan>& stream_;
  kit::SharedLayout stage_;
  int stage_bytes_;  // from one stage to the next
  Reg m_, n_, depth_, a_, b_, workspace_, c_pointer_, d_pointer_, lda_, ldb_, ldc_, ldd_;
  TermInputs terms_;
  BatchInputs batches_;
  Reg thread_, lane_, warp_row_, warp_column_, shared_;
  kit::Accumulators accumulators_, scaled_;  // with block scales: of one scale block, and the total
  std::optional<BlockScales> scales_;
};

}  // namespace

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                    const Config& config) {
  std::optional<StreamPlan> stream;
  if (config.stream_k) stream.emplace(target.info(), problem, config, 0);
  const LaunchPlan launch = launch_plan(problem, config, stream);
  return {Generator(std::move(specs), target, problem, config, stream).run(), {launch}};
}

}  // namespace ptxloom::gemm_kernel::mma_sync
