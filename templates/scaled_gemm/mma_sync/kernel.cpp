// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/mma_sync/kernel.hpp"

#include <fmt/format.h>

#include <utility>

#include "ptxloom/kit/fragments.hpp"
#include "ptxloom/kit/mma.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/tile_copy.hpp"
#include "ptxloom/kit/tile_scheduler.hpp"
#include "scaled_gemm/epilogue/element_store.hpp"
#include "scaled_gemm/mma_sync/weights.hpp"

namespace ptxloom::scaled_gemm::mma_sync {
namespace {

constexpr const char* kName = "scaled_gemm";
constexpr std::uint32_t kAlignment = 16;  // bytes

kit::Params params(const Problem& p) {
  kit::Params params;
  params.size("m", u32, p.m).size("n", u32, p.n).size("k", u32, p.k);
  params.pointer("a", p.a.format.element).aligned(kAlignment);
  params.pointer("b", b8).aligned(kAlignment).pointer("scale_b", b8).aligned(kAlignment);
  if (p.b.zero_points()) params.pointer("zero_b", b8).aligned(kAlignment);
  if (p.b.format.tensor_scale) params.pointer("tensor_scale_b", f32).aligned(sizeof(float));
  add_product_params(params, p);
  params.pointer("d", p.d).aligned(alignment_of(p.d)).size("lda", u32, p.a.ld).size("ldd", u32, p.ldd);
  return params;
}

kit::SwizzledTile activation_tile(const Problem& p, const Config& c) {
  return kit::fragment_tile(p.a.format.element, true, c.tile_m, c.tile_k);
}

class Generator {
 public:
  Generator(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p, const Config& c)
      : k_(std::move(specs), kName, target),
        p_(p),
        c_(c),
        mma_(k_.specs().match(mma_opcode(p)).front()),
        products_(k_, mma_, 16 * row_tiles_of_group(c), c.tile_m),
        tile_(activation_tile(p, c)) {}

  ir::Module run() {
    k_.require_block(static_cast<std::uint32_t>(threads(c_)));
    in_ = params(p_).declare(k_);
    thread_ = k_.special("tid.x");
    const Reg shared = k_.address_of(k_.dynamic_shared("stages", 128));
    if (ByteDequantiser::table_bytes(p_) != 0) {
      table_ = k_.add(shared, c_.stages * tile_.bytes());
      ByteDequantiser::fill_table(k_, p_, table_, thread_);  // the first barrier comes before it is read
    }
    kit::TileScheduler tiles(k_, {.tile_m = c_.tile_n, .tile_n = c_.tile_m, .tile_k = c_.tile_k},
                             tile_problem(p_, in_, true));
    const kit::TileOrigin tile = tiles.own();
    kit::TileCopy copy(k_, copied(), tile_,
                       {.pointer = activations(tile),
                        .ld = in_["lda"],
                        .origin = tile.column,
                        .extent = tile.rows,
                        .k = in_["k"],
                        .shared = shared,
                        .thread = thread_});
    kit::Fragments fragments(
        k_, {.mma = mma_, .operand = "B", .type = p_.a.format.element, .extent = c_.tile_m}, tile_,
        {.shared = shared, .warp_origin = k_.mov(u32, 0), .lane = k_.and_(thread_, 31)});
    const Reg group = k_.div(thread_, 32 * kGroupWarps);
    const Reg row_tile = k_.fma(group, row_tiles_of_group(c_), k_.div(tile.row, kRows));
    Weights weights(k_, p_, c_, inputs(tile, row_tile));
    multiply(copy, fragments, weights);
    store(tile, group);
    k_.ret();
    return k_.finish();
  }

 private:
  kit::TileCopyShape copied() {
    return {.type = p_.a.format.element,
            .access = kit::copy_access(k_.specs(), k_.target(), p_.a.matrix()),
            .threads = threads(c_)};
  }

  Reg activations(const kit::TileOrigin& tile) {
    const std::uint64_t bytes = std::uint64_t{p_.m} * p_.a.matrix().pitch_bytes();
    return own_matrix(k_, tile, in_["a"], p_.separate(), bytes);
  }

  WeightInputs inputs(const kit::TileOrigin& tile, Reg row_tile) {
    return {.weights = in_["b"],
            .scales = in_["scale_b"],
            .zeros = p_.b.zero_points() ? in_["zero_b"] : Reg{},
            .table = table_,
            .row_tile = row_tile,
            .batch = tile.batch,
            .thread = k_.rem(thread_, 32 * kGroupWarps),
            .k = in_["k"]};
  }

  void multiply(kit::TileCopy& copy, kit::Fragments& fragments, Weights& weights) {
    sums_ = products_.zeros();
    if (p_.promotes()) accumulators_ = std::exchange(sums_, f32_zeros(sums_));
    for (int stage = 0; stage + 1 < c_.stages; ++stage) {
      copy.issue(k_.mov(u32, stage * tile_.bytes()));
      k_.cp_async_commit();
    }
    weights.load(k_.mov(u32, 0));
    const kit::Fragments::Tiles registers = fragments.allocate();
    const Reg reading = k_.mov(u32, 0), writing = k_.mov(u32, (c_.stages - 1) * tile_.bytes());
    k_.for_(k_.mov(u32, 0), in_["k"], c_.tile_k, [&](Reg depth) {
      k_.cp_async_wait(c_.stages - 2);
      k_.barrier();  // the stage has arrived for all threads, and nobody reads the one that is written next
      copy.issue(writing);
      k_.cp_async_commit();
      weights.advance();
      const Reg next = k_.add(depth, c_.tile_k);
      k_.if_(k_.lt(next, in_["k"]), [&] { weights.load(next); });
      fragments.set_stage(reading);
      for (int step = 0; step < c_.tile_k / instruction_depth(p_); ++step) {
        fragments.load(step, registers);
        multiply_step(registers, weights, step);
      }
      for (const Reg& stage : {reading, writing}) {
        const Reg after = k_.add(stage, tile_.bytes());
        k_.set(stage, k_.select(k_.eq(after, c_.stages * tile_.bytes()), k_.mov(u32, 0), after));
      }
    });
    k_.cp_async_wait();
    if (p_.row_scales() && !p_.promotes()) scale(weights);
  }

  void multiply_step(const kit::Fragments::Tiles& b, Weights& weights, int step) {
    kit::Fragments::Tiles a;
    for (int i = 0; i < row_tiles_of_group(c_); ++i) a.push_back(weights.make(i, step));
    if (!p_.promotes()) return products_.multiply(a, b, sums_);
    const int steps = run_depth(p_, c_.tile_k) / instruction_depth(p_);
    products_.multiply(a, b, accumulators_, step % steps == 0);
    if (step % steps == steps - 1) promote(weights);
  }

  /// As many as these.
  kit::Accumulators f32_zeros(const kit::Accumulators& like) {
    kit::Accumulators made;
    for (const auto& row : like)
      for (auto& tiles = made.emplace_back(); const auto& tile : row) {
        tiles.push_back(k_.regs(f32, static_cast<int>(tile.size())));
        for (const Reg& sum : tiles.back()) k_.emit("mov.f32", sum, Arg::zero(f32));
      }
    return made;
  }

  void promote(const Weights& weights) {
    for_each_sum(weights, [&](Reg& sum, std::array<std::size_t, 3> at, Reg factor) {
      scaled_gemm::promote(k_, sum, accumulators_[at[0]][at[1]][at[2]], factor);
    });
  }

  /// Plain sums, which all products are in.
  void scale(const Weights& weights) {
    for_each_sum(weights, [&](Reg& sum, auto, Reg factor) {
      const Reg scaled = k_.reg(f32);
      scale_sum(k_, scaled, sum, factor);
      sum = scaled;
    });
  }

  /// f(sum, its place, the factor of its row).
  void for_each_sum(const Weights& weights, const auto& f) {
    const std::vector<kit::AccumulatorPlace> places = kit::accumulator_places(mma_);
    for (std::size_t i = 0; i < sums_.size(); ++i)
      for (std::size_t j = 0; j < sums_[i].size(); ++j)
        for (std::size_t reg = 0; reg < places.size(); ++reg)
          f(sums_[i][j][reg], std::array{i, j, reg},
            weights.factors(static_cast<int>(i))[static_cast<std::size_t>(places[reg].row / 8)]);
  }

  void store(const kit::TileOrigin& tile, Reg group) {
    const std::vector<kit::AccumulatorPlace> places = kit::accumulator_places(mma_);
    const Reg warp = k_.rem(k_.shr(thread_, 5), kGroupWarps);
    const Reg own = k_.fma(group, row_tiles_of_group(c_) * kRows, k_.fma(warp, 16, tile.row));
    const Results results(k_, p_, in_, tile);
    for (std::size_t i = 0; i < sums_.size(); ++i)
      for (std::size_t j = 0; j < sums_[i].size(); ++j)
        store_elements(k_, p_, in_, sums_[i][j], places, results, tile,
                       {.row = k_.add(tile.column, 8 * j),
                        .column = k_.add(own, i * kRows),
                        .lane = k_.and_(thread_, 31)});
  }

  KernelBuilder k_;
  const Problem& p_;
  const Config& c_;
  Variant mma_;
  kit::MmaTiles products_;
  kit::SwizzledTile tile_;
  kit::ParamRegs in_;
  Reg thread_, table_;
  kit::Accumulators sums_, accumulators_;  // `accumulators_`: of a run of k, if they are promoted
};

}  // namespace

std::string mma_opcode(const Problem& p) {
  const Type type = p.a.format.element;
  return fmt::format("mma.sync.aligned.m16n8k{1}.row.col.{2}.{0}.{0}.{2}", type.name, instruction_depth(p),
                     type == s8 ? "s32" : "f32");
}

std::uint64_t grid(const Problem& p, const Config& c) {
  return parts_of(p.m, c.tile_m) * parts_of(p.n, c.tile_n) * (p.separate() ? p.batch : 1);
}

int shared_bytes(const Problem& p, const Config& c) {
  return c.stages * activation_tile(p, c).bytes() + ByteDequantiser::table_bytes(p);
}

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p,
                    const Config& c) {
  LaunchPlan launch{.entry = kName,
                    .grid = {static_cast<std::uint32_t>(grid(p, c)), 1, 1},
                    .block = {static_cast<std::uint32_t>(threads(c)), 1, 1},
                    .shared_bytes = static_cast<std::uint32_t>(shared_bytes(p, c)),
                    .arguments = params(p).arguments()};
  return {.module = Generator(std::move(specs), target, p, c).run(), .launches = {std::move(launch)}};
}

}  // namespace ptxloom::scaled_gemm::mma_sync
