// SPDX-License-Identifier: Apache-2.0
// Tiles of A and B arrive in a ring of stages, and the scales of the next k-block in registers, while the
// warps multiply a k-block.
#include "scaled_gemm/block_scale/kernel.hpp"

#include <fmt/format.h>

#include <utility>

#include "ptxloom/kit/epilogue.hpp"
#include "ptxloom/kit/fragments.hpp"
#include "ptxloom/kit/mma.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/shared_layout.hpp"
#include "ptxloom/kit/tile_copy.hpp"
#include "ptxloom/kit/tile_scheduler.hpp"
#include "scaled_gemm/block_scale/scale_loads.hpp"
#include "scaled_gemm/results.hpp"

namespace ptxloom::scaled_gemm::block_scale {
namespace {

constexpr std::uint32_t kAlignment = 16;      // bytes, of A and B
constexpr int kPackedChunk = 8;               // bytes of 16 elements of 4 bits
constexpr std::uint32_t kScaleAlignment = 4;  // of their scales: one load has four

kit::Params params(const Problem& p) {
  kit::Params params;
  params.size("m", u32, p.m).size("n", u32, p.n).size("k", u32, p.k);
  params.pointer("a", b8).aligned(kAlignment).pointer("b", b8).aligned(kAlignment);
  params.pointer("scale_a", b8).aligned(kScaleAlignment).pointer("scale_b", b8).aligned(kScaleAlignment);
  if (p.a.format.tensor_scale) {
    params.pointer("tensor_scale_a", f32).aligned(sizeof(float));
    params.pointer("tensor_scale_b", f32).aligned(sizeof(float));
  }
  add_product_params(params, p);
  params.pointer("d", p.d)
      .aligned(alignment_of(p.d))
      .size("lda", u32, p.a.ld)
      .size("ldb", u32, p.b.ld)
      .size("ldd", u32, p.ldd);
  return params;
}

kit::SwizzledTile tile_of(const Operand& operand, int extent, int depth) {
  return kit::fragment_tile(operand.widened ? u8 : operand.format.element, true, extent, depth);
}

/// How a tile is copied. Widened elements of 4 bits have gaps of 8 bytes between each 16 of them.
kit::TileCopyShape copy_of(const KernelBuilder& k, const Operand& operand, int threads) {
  const kit::MatrixOperand matrix = operand.matrix();
  kit::TileCopyShape shape{
      .type = matrix.type, .access = kit::copy_access(k.specs(), k.target(), matrix), .threads = threads};
  if (operand.widened && operand.format.element.bits == 4) {
    shape.access.bytes = kPackedChunk;
    shape.slot = 2 * kPackedChunk;
  }
  return shape;
}

/// A or B: its copy to shared memory, its fragments of a k-step, and its scales.
struct Side {
  kit::TileCopy copy;
  kit::Fragments fragments;
  kit::Fragments::Tiles registers;
  ScaleLoads loads;
  std::vector<Reg> scales = {};  // of the current k-block
};

class Generator {
 public:
  Generator(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p, const Config& c)
      : k_(std::move(specs), "scaled_gemm", target),
        p_(p),
        c_(c),
        mma_(k_.specs().match(mma_opcode(p)).front()),
        products_(k_, mma_, warp_m(c), warp_n(c)),
        a_tile_(tile_of(p.a, c.tile_m, c.tile_k)),
        b_tile_(tile_of(p.b, c.tile_n, c.tile_k)) {
    stage_.add("a", a_tile_.bytes(), 128).add("b", b_tile_.bytes(), 128);
  }

  int shared_bytes() const { return c_.stages * stage_.pitch(); }

  ir::Module run() {
    k_.require_block(static_cast<std::uint32_t>(threads(c_)));
    in_ = params(p_).declare(k_);
    thread_ = k_.special("tid.x");
    lane_ = k_.and_(thread_, 31);
    const Reg warp = k_.shr(thread_, 5);
    warp_row_ = k_.mul(k_.rem(warp, c_.warps_m), warp_m(c_));
    warp_column_ = k_.mul(k_.div(warp, c_.warps_m), warp_n(c_));
    shared_ = k_.address_of(k_.dynamic_shared("stages", 128));
    kit::TileScheduler tiles(k_, {.tile_m = c_.tile_m, .tile_n = c_.tile_n, .tile_k = c_.tile_k},
                             tile_problem(p_, in_, false));
    const kit::TileOrigin tile = tiles.own();
    Side a = side("A", tile);
    Side b = side("B", tile);
    multiply(a, b);
    store(tile);
    k_.ret();
    return k_.finish();
  }

 private:
  Side side(std::string_view name, const kit::TileOrigin& at) {
    const bool is_a = name == "A";
    const Operand& operand = is_a ? p_.a : p_.b;
    const kit::SwizzledTile& tile = is_a ? a_tile_ : b_tile_;
    const Reg origin = is_a ? at.row : at.column, warp_origin = is_a ? warp_row_ : warp_column_;
    const Reg shared = stage_.address(k_, shared_, is_a ? "a" : "b"), extent = is_a ? at.rows : in_["n"];
    const auto own = [&](const char* pointer, std::uint64_t bytes) {
      return own_matrix(k_, at, in_[pointer], operand.batched, bytes);
    };
    const int part = is_a ? warp_m(c_) : warp_n(c_);
    const auto packed = static_cast<int>(operand.packed());
    kit::TileCopy copy(k_, copy_of(k_, operand, threads(c_)), tile,
                       {.pointer = own(is_a ? "a" : "b", operand.extent * operand.matrix().pitch_bytes()),
                        .ld = k_.div(in_[is_a ? "lda" : "ldb"], packed),
                        .origin = origin,
                        .extent = extent,
                        .k = k_.div(in_["k"], packed),
                        .shared = shared,
                        .thread = thread_});
    kit::Fragments fragments(k_,
                             {.mma = mma_, .operand = name, .type = operand.format.element, .extent = part},
                             tile, {.shared = shared, .warp_origin = warp_origin, .lane = lane_});
    kit::Fragments::Tiles registers = fragments.allocate();
    const int block = static_cast<int>(operand.format.block);
    const Reg count = k_.div(k_.add(in_["k"], block - 1), block);
    ScaleLoads loads(
        k_, mma_, is_a ? "SA" : "SB", operand, {.rows = part, .groups = c_.tile_k / block},
        {.pointer = own(is_a ? "scale_a" : "scale_b", std::uint64_t{operand.extent} * operand.scales()),
         .extent = extent,
         .count = count,
         .origin = k_.add(origin, warp_origin),
         .lane = lane_});
    return {std::move(copy), std::move(fragments), std::move(registers), std::move(loads)};
  }

  static bool asynchronous(const Side& a, const Side& b) {
    return a.copy.asynchronous() || b.copy.asynchronous();
  }

  // The copies of a k-block form one group, which completes as a whole.
  void finish_copies(Side& a, Side& b) {
    a.copy.land();
    b.copy.land();
    if (asynchronous(a, b)) k_.cp_async_commit();
  }

  void fill_stages(Side& a, Side& b) {
    for (int stage = 0; stage + 1 < c_.stages; ++stage) {
      const Reg there = k_.mov(u32, stage * stage_.pitch());
      a.copy.issue(there);
      b.copy.issue(there);
      finish_copies(a, b);
    }
  }

  void multiply(Side& a, Side& b) {
    accumulators_ = products_.zeros();
    fill_stages(a, b);
    const Reg column = k_.mov(u32, 0);
    for (Side* side : {&a, &b}) side->scales = side->loads.load(column);
    const Reg reading = k_.mov(u32, 0), writing = k_.mov(u32, (c_.stages - 1) * stage_.pitch());
    k_.for_(k_.mov(u32, 0), in_["k"], c_.tile_k, [&](Reg) {
      if (asynchronous(a, b)) k_.cp_async_wait(c_.stages - 2);
      k_.barrier();  // the stage has arrived for all threads, and nobody reads the one that is written next
      a.copy.issue(writing);
      b.copy.issue(writing);
      k_.set(column, k_.add(column, a.loads.groups()));
      const std::vector<Reg> next_a = a.loads.load(column), next_b = b.loads.load(column);
      multiply_stage(a, b, reading);
      finish_copies(a, b);
      for (std::size_t i = 0; i < next_a.size(); ++i) k_.set(a.scales[i], next_a[i]);
      for (std::size_t i = 0; i < next_b.size(); ++i) k_.set(b.scales[i], next_b[i]);
      for (const Reg& stage : {reading, writing}) {
        const Reg next = k_.add(stage, stage_.pitch());
        k_.set(stage, k_.select(k_.eq(next, shared_bytes()), k_.mov(u32, 0), next));
      }
    });
    if (asynchronous(a, b)) k_.cp_async_wait();
  }

  void multiply_stage(Side& a, Side& b, Reg stage) {
    a.fragments.set_stage(stage);
    b.fragments.set_stage(stage);
    for (int step = 0; step < c_.tile_k / mma_depth(p_); ++step) {
      a.fragments.load(step, a.registers);
      b.fragments.load(step, b.registers);
      multiply_step(a, b, step);
    }
  }

  // The byte selector chooses the first scale of this k-step among the four of a register.
  void multiply_step(const Side& a, const Side& b, int step) {
    const int group = step * mma_depth(p_) / static_cast<int>(p_.a.format.block);
    const int byte = group % ScaleLoads::kPerRegister;
    for (std::size_t i = 0; i < a.registers.size(); ++i)
      for (std::size_t j = 0; j < b.registers.size(); ++j) {
        const std::vector<Reg>& d = accumulators_[i][j];
        const Reg scale_a = a.scales[a.loads.index(i, group)], scale_b = b.scales[b.loads.index(j, group)];
        k_.emit(mma_, d, a.registers[i], b.registers[j], d, scale_a, byte, 0, scale_b, byte, 0);
      }
  }

  void store(const kit::TileOrigin& tile) {
    const std::uint64_t bytes = std::uint64_t{p_.m} * p_.ldd * static_cast<std::uint64_t>(p_.d.bytes());
    const Reg d = own_matrix(k_, tile, in_["d"], p_.separate(), bytes);
    const Results results(k_, p_, in_, tile);
    const Reg column = k_.add(tile.column, warp_column_);
    const kit::EpiloguePart part{.mma = mma_,
                                 .accumulators = p_.swiglu ? gated(results, column) : accumulators_,
                                 .row = k_.add(tile.row, warp_row_),
                                 .column = p_.swiglu ? k_.div(column, 2) : column,
                                 .thread = lane_};
    kit::store_tile(k_, part,
                    {.d = {d, p_.d},
                     .rows = tile.rows,
                     .columns = p_.swiglu ? k_.div(in_["n"], 2) : in_["n"],
                     .pitch = in_["ldd"],
                     .vector = kit::EpilogueMatrix::vector_of(p_.ldd, p_.columns())},
                    [&](KernelBuilder&, Reg value, Reg row, Reg at) {
                      const ResultRow own = results.row(row);
                      if (!p_.swiglu) value = results.scaled(value, own, results.bias(at));
                      return results.result(value, own, at);
                    });
  }

  // Gates and values are adjacent tiles of the instruction, of 8 columns.
  kit::Accumulators gated(const Results& results, Reg first_column) {
    const std::vector<kit::AccumulatorPlace> places = kit::accumulator_places(mma_);
    const Reg own = k_.fma(k_.and_(lane_, 3), 2, first_column);
    const auto bias = [&](std::size_t tile, int column) {
      return p_.bias ? results.bias(k_.add(own, static_cast<int>(tile) * kGateColumns + column))
                     : std::nullopt;
    };
    kit::Accumulators made;
    for (const auto& row : accumulators_) {
      made.emplace_back();
      for (std::size_t j = 0; j < row.size(); j += 2) {
        std::vector<Reg>& tile = made.back().emplace_back();
        for (std::size_t i = 0; i < row[j].size(); ++i)
          tile.push_back(results.gated(results.scaled(row[j][i], {}, bias(j, places[i].column)),
                                       results.scaled(row[j + 1][i], {}, bias(j + 1, places[i].column))));
      }
    }
    return made;
  }

  KernelBuilder k_;
  const Problem& p_;
  const Config& c_;
  Variant mma_;
  kit::MmaTiles products_;
  kit::SwizzledTile a_tile_, b_tile_;
  kit::SharedLayout stage_;
  kit::ParamRegs in_;
  Reg thread_, lane_, warp_row_, warp_column_, shared_;
  kit::Accumulators accumulators_;
};

}  // namespace

std::uint64_t grid(const Problem& p, const Config& c) {
  return parts_of(p.m, c.tile_m) * parts_of(p.n, c.tile_n) * (p.separate() ? p.batch : 1);
}

int mma_depth(const Problem& p) { return p.a.tile_bits() == 4 ? 64 : 32; }

std::string mma_opcode(const Problem& p) {
  const std::string_view kind = p.a.tile_bits() == 8        ? "mxf8f6f4"
                                : p.a.format.scale == ue8m0 ? "mxf4"
                                                            : "mxf4nvf4";
  const int depth = mma_depth(p);
  return fmt::format("mma.sync.aligned.m16n8k{}.row.col.kind::{}.block_scale.scale_vec::{}X.f32.{}.{}.f32.{}",
                     depth, kind, depth / static_cast<int>(p.a.format.block), p.a.format.element.name,
                     p.b.format.element.name, p.a.format.scale.name);
}

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p,
                    const Config& c) {
  Generator generator(std::move(specs), target, p, c);
  LaunchPlan launch{.entry = "scaled_gemm",
                    .grid = {static_cast<std::uint32_t>(grid(p, c)), 1, 1},
                    .block = {static_cast<std::uint32_t>(threads(c)), 1, 1},
                    .shared_bytes = static_cast<std::uint32_t>(generator.shared_bytes()),
                    .arguments = params(p).arguments()};
  return {.module = generator.run(), .launches = {std::move(launch)}};
}

}  // namespace ptxloom::scaled_gemm::block_scale
