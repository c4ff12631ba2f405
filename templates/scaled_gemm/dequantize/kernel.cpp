// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/dequantize/kernel.hpp"

#include <utility>

#include "ptxloom/kit/fragments.hpp"
#include "ptxloom/kit/mma.hpp"
#include "ptxloom/kit/shared_layout.hpp"
#include "ptxloom/kit/tile_copy.hpp"
#include "scaled_gemm/dequantize/halves.hpp"
#include "scaled_gemm/warp_tiles.hpp"

namespace ptxloom::scaled_gemm::dequantize {
namespace {

constexpr const char* kName = "scaled_gemm";
constexpr int kDepth = 16;  // elements of k of an instruction

/// The parts of a stage, and those of shared memory behind all stages.
///@{
kit::SharedLayout stage_of(const Problem& p, const Config& c) {
  kit::SharedLayout stage;
  stage.add("a", packed_tile(p.a, c.tile_m, c.tile_k).bytes(), 128);
  return stage.add("b", packed_tile(p.b, c.tile_n, c.tile_k).bytes(), 128);
}
kit::SharedLayout shared_of(const Problem& p, const Config& c) {
  const kit::SharedLayout stage = stage_of(p, c);
  kit::SharedLayout shared;
  shared.add("stages", c.stages * stage.pitch(), stage.alignment());
  shared.add("a", halves_tile(c.tile_m, c.tile_k).bytes(), 128);
  return shared.add("b", halves_tile(c.tile_n, c.tile_k).bytes(), 128);
}
///@}

/// A or B: its copy to shared memory, its conversion, and its fragments of a k-step.
struct Side {
  kit::TileCopy copy;
  Halves halves;
  kit::Fragments fragments;
  kit::Fragments::Tiles registers;
};

class Generator {
 public:
  Generator(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p, const Config& c)
      : k_(std::move(specs), kName, target),
        p_(p),
        c_(c),
        mma_(k_.specs().match(mma_opcode(p)).front()),
        products_(k_, mma_, warp_m(c), warp_n(c)),
        stage_(stage_of(p, c)),
        layout_(shared_of(p, c)) {}

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
    Side a = side(true, tile), b = side(false, tile);
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
  Side side(bool is_a, const kit::TileOrigin& at) {
    const Operand& operand = is_a ? p_.a : p_.b;
    const char* const name = is_a ? "a" : "b";
    const int rows = is_a ? c_.tile_m : c_.tile_n;
    const Reg origin = is_a ? at.row : at.column, extent = is_a ? at.rows : in_["n"];
    const Reg packed = k_.add(layout_.address(k_, shared_, "stages"), stage_.offset(name));
    const Reg halves = layout_.address(k_, shared_, name);
    const auto own = [&](const char* pointer, std::uint64_t bytes) {
      return own_matrix(k_, at, in_[pointer], operand.batched, bytes);
    };
    const auto stored = static_cast<int>(operand.packed());
    kit::TileCopy copy(k_,
                       {.type = operand.matrix().type,
                        .access = kit::copy_access(k_.specs(), k_.target(), operand.matrix()),
                        .threads = tile_threads(c_)},
                       packed_tile(operand, rows, c_.tile_k),
                       {.pointer = own(name, operand.extent * operand.matrix().pitch_bytes()),
                        .ld = k_.div(in_[is_a ? "lda" : "ldb"], stored),
                        .origin = origin,
                        .extent = extent,
                        .k = k_.div(in_["k"], stored),
                        .shared = packed,
                        .thread = thread_});
    Halves converted(k_, operand, {.rows = rows, .depth = c_.tile_k, .threads = tile_threads(c_)},
                     {.scales = operand.scaled() ? own(is_a ? "scale_a" : "scale_b",
                                                       std::uint64_t{operand.extent} * operand.scales())
                                                 : Reg{},
                      .extent = extent,
                      .count = k_.mov(u32, operand.scaled() ? operand.scales() : 0),
                      .origin = origin,
                      .packed = packed,
                      .halves = halves,
                      .thread = thread_});
    kit::Fragments fragments(
        k_,
        {.mma = mma_, .operand = is_a ? "A" : "B", .type = bf16, .extent = is_a ? warp_m(c_) : warp_n(c_)},
        halves_tile(rows, c_.tile_k),
        {.shared = halves, .warp_origin = is_a ? warp_row_ : warp_column_, .lane = lane_});
    kit::Fragments::Tiles registers = fragments.allocate();
    return {std::move(copy), std::move(converted), std::move(fragments), std::move(registers)};
  }

  // The copies of a k-block form one group, which completes as a whole.
  void finish_copies(Side& a, Side& b) {
    a.copy.land();
    b.copy.land();
    k_.cp_async_commit();
  }

  void multiply(Side& a, Side& b) {
    accumulators_ = products_.zeros();
    for (int stage = 0; stage + 1 < c_.stages; ++stage) {
      for (Side* side : {&a, &b}) side->copy.issue(k_.mov(u32, stage * stage_.pitch()));
      finish_copies(a, b);
    }
    for (Side* side : {&a, &b}) {
      side->halves.load_scales();
      side->fragments.set_stage(k_.mov(u32, 0));
    }
    const Reg reading = k_.mov(u32, 0), writing = k_.mov(u32, (c_.stages - 1) * stage_.pitch());
    k_.for_(k_.mov(u32, 0), in_["k"], c_.tile_k, [&](Reg) {
      k_.cp_async_wait(c_.stages - 2);
      k_.barrier();  // the stage has arrived for all threads, and nobody multiplies the k-block before
      for (Side* side : {&a, &b}) side->copy.issue(writing);
      for (Side* side : {&a, &b}) {
        side->halves.convert(reading);
        side->halves.load_scales();
      }
      k_.barrier();
      multiply_block(a, b);
      finish_copies(a, b);
      for (const Reg& stage : {reading, writing}) {
        const Reg next = k_.add(stage, stage_.pitch());
        k_.set(stage, k_.select(k_.eq(next, c_.stages * stage_.pitch()), k_.mov(u32, 0), next));
      }
    });
    k_.cp_async_wait();
  }

  void multiply_block(Side& a, Side& b) {
    for (int step = 0; step < c_.tile_k / kDepth; ++step) {
      for (Side* side : {&a, &b}) side->fragments.load(step, side->registers);
      products_.multiply(a.registers, b.registers, accumulators_);
    }
  }

  KernelBuilder k_;
  const Problem& p_;
  const Config& c_;
  Variant mma_;
  kit::MmaTiles products_;
  kit::SharedLayout stage_, layout_;
  kit::ParamRegs in_;
  Reg thread_, lane_, warp_row_, warp_column_, shared_;
  kit::Accumulators accumulators_;
};

}  // namespace

std::string mma_opcode(const Problem&) { return "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"; }

int shared_bytes(const Problem& p, const Config& c) { return shared_of(p, c).size(); }

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p,
                    const Config& c) {
  LaunchPlan launch{.entry = kName,
                    .grid = {static_cast<std::uint32_t>(tile_grid(p, c)), 1, 1},
                    .block = {static_cast<std::uint32_t>(tile_threads(c)), 1, 1},
                    .shared_bytes = static_cast<std::uint32_t>(shared_bytes(p, c)),
                    .arguments = plain_params(p).arguments()};
  return {.module = Generator(std::move(specs), target, p, c).run(), .launches = {std::move(launch)}};
}

}  // namespace ptxloom::scaled_gemm::dequantize
