// SPDX-License-Identifier: Apache-2.0
// Tiles of A and B arrive in a ring of stages, and the scales of the next k-block in registers, while the
// warps multiply a k-block.
#include "scaled_gemm/block_scale/kernel.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "ptxloom/kit/fragments.hpp"
#include "ptxloom/kit/mma.hpp"
#include "ptxloom/kit/shared_layout.hpp"
#include "ptxloom/kit/tile_copy.hpp"
#include "ptxloom/kit/tile_scheduler.hpp"
#include "scaled_gemm/block_scale/scale_loads.hpp"
#include "scaled_gemm/warp_tiles.hpp"

namespace ptxloom::scaled_gemm::block_scale {
namespace {

constexpr int kPackedChunk = 8;  // bytes of 16 elements of 4 bits

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
  std::optional<ScaleLoads> loads = {};  // none: there are no scales of blocks
  std::vector<Reg> scales = {};          // of the current k-block
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
    k_.require_block(static_cast<std::uint32_t>(tile_threads(c_)));
    in_ = plain_params(p_).declare(k_);
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
    store_warp_part(k_, p_, in_, tile,
                    {.mma = mma_,
                     .accumulators = accumulators_,
                     .row = k_.add(tile.row, warp_row_),
                     .column = k_.add(tile.column, warp_column_),
                     .lane = lane_});
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
    kit::TileCopy copy(k_, copy_of(k_, operand, tile_threads(c_)), tile,
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
    Side made{.copy = std::move(copy), .fragments = std::move(fragments), .registers = std::move(registers)};
    if (!operand.scaled()) return made;
    const int block = static_cast<int>(operand.format.block);
    const Reg count = k_.div(k_.add(in_["k"], block - 1), block);
    made.loads.emplace(
        k_, mma_, is_a ? "SA" : "SB", operand, ScaleShape{.rows = part, .groups = c_.tile_k / block},
        ScaleInputs{
            .pointer = own(is_a ? "scale_a" : "scale_b", std::uint64_t{operand.extent} * operand.scales()),
            .extent = extent,
            .count = count,
            .origin = k_.add(origin, warp_origin),
            .lane = lane_});
    return made;
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
    for (Side* side : {&a, &b})
      if (side->loads) side->scales = side->loads->load(column);
    const Reg reading = k_.mov(u32, 0), writing = k_.mov(u32, (c_.stages - 1) * stage_.pitch());
    k_.for_(k_.mov(u32, 0), in_["k"], c_.tile_k, [&](Reg) {
      if (asynchronous(a, b)) k_.cp_async_wait(c_.stages - 2);
      k_.barrier();  // the stage has arrived for all threads, and nobody reads the one that is written next
      a.copy.issue(writing);
      b.copy.issue(writing);
      std::vector<Reg> next_a, next_b;
      if (a.loads) {
        k_.set(column, k_.add(column, a.loads->groups()));
        next_a = a.loads->load(column), next_b = b.loads->load(column);
      }
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
    if (!a.loads) return products_.multiply(a.registers, b.registers, accumulators_);
    const int group = step * mma_depth(p_) / static_cast<int>(p_.a.format.block);
    const int byte = group % ScaleLoads::kPerRegister;
    for (std::size_t i = 0; i < a.registers.size(); ++i)
      for (std::size_t j = 0; j < b.registers.size(); ++j) {
        const std::vector<Reg>& d = accumulators_[i][j];
        const Reg scale_a = a.scales[a.loads->index(i, group)], scale_b = b.scales[b.loads->index(j, group)];
        k_.emit(mma_, d, a.registers[i], b.registers[j], d, scale_a, byte, 0, scale_b, byte, 0);
      }
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

int mma_depth(const Problem& p) { return p.a.tile_bits() == 4 ? 64 : 32; }

std::string mma_opcode(const Problem& p) {
  if (!p.a.scaled())
    return fmt::format("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.{}.{}.f32",
                       p.a.format.element.name, p.b.format.element.name);
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
                    .grid = {static_cast<std::uint32_t>(tile_grid(p, c)), 1, 1},
                    .block = {static_cast<std::uint32_t>(tile_threads(c)), 1, 1},
                    .shared_bytes = static_cast<std::uint32_t>(generator.shared_bytes()),
                    .arguments = plain_params(p).arguments()};
  return {.module = generator.run(), .launches = {std::move(launch)}};
}

}  // namespace ptxloom::scaled_gemm::block_scale
