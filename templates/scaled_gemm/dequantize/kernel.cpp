// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/dequantize/kernel.hpp"

#include <utility>

#include "ptxloom/kit/shared_layout.hpp"
#include "ptxloom/kit/tile_copy.hpp"
#include "scaled_gemm/dequantize/halves.hpp"
#include "scaled_gemm/warp_tiles.hpp"

namespace ptxloom::scaled_gemm::dequantize {
namespace {

constexpr const char* kName = "scaled_gemm";
constexpr int kWgmmaAlignment = 1024;  // bytes, of a tile that wgmma reads

/// The parts of a stage, and those of shared memory behind all stages.
///@{
kit::SharedLayout stage_of(const Problem& p, const Config& c) {
  kit::SharedLayout stage;
  stage.add("a", packed_tile(p.a, c.tile_m, c.tile_k).bytes(), 128);
  return stage.add("b", packed_tile(p.b, c.tile_n, c.tile_k).bytes(), 128);
}
kit::SharedLayout shared_of(const Problem& p, const Config& c, int buffers) {
  const kit::SharedLayout stage = stage_of(p, c);
  kit::SharedLayout shared;
  shared.add("stages", c.stages * stage.pitch(), stage.alignment());
  shared.add("a", buffers * halves_tile(c.tile_m, c.tile_k).bytes(), kWgmmaAlignment);
  return shared.add("b", buffers * halves_tile(c.tile_n, c.tile_k).bytes(), kWgmmaAlignment);
}
///@}

/// A or B: its copy to shared memory, and its conversion.
struct Side {
  kit::TileCopy copy;
  Halves halves;
};

class Generator {
 public:
  Generator(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p, const Config& c,
            const MultiplierKind& kind)
      : k_(std::move(specs), kName, target),
        p_(p),
        c_(c),
        kind_(kind),
        stage_(stage_of(p, c)),
        layout_(shared_of(p, c, kind.buffers)) {}

  ir::Module run() {
    k_.require_block(static_cast<std::uint32_t>(tile_threads(c_)));
    in_ = plain_params(p_).declare(k_);
    thread_ = k_.special("tid.x");
    shared_ = k_.address_of(k_.dynamic_shared("stages", kWgmmaAlignment));
    kit::TileScheduler tiles(k_, {.tile_m = c_.tile_m, .tile_n = c_.tile_n, .tile_k = c_.tile_k},
                             tile_problem(p_, in_, false));
    const kit::TileOrigin tile = tiles.own();
    Side a = side(true, tile), b = side(false, tile);
    const std::unique_ptr<Multiplier> multiplier = kind_.make(
        k_, c_,
        {.a = layout_.address(k_, shared_, "a"), .b = layout_.address(k_, shared_, "b"), .thread = thread_});
    multiply(a, b, *multiplier);
    store_warp_part(k_, p_, in_, tile, multiplier->part(tile));
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
    return {std::move(copy), std::move(converted)};
  }

  // The copies of a k-block form one group, which completes as a whole.
  void finish_copies(Side& a, Side& b) {
    a.copy.land();
    b.copy.land();
    k_.cp_async_commit();
  }

  void multiply(Side& a, Side& b, Multiplier& multiplier) {
    for (int stage = 0; stage + 1 < c_.stages; ++stage) {
      for (Side* side : {&a, &b}) side->copy.issue(k_.mov(u32, stage * stage_.pitch()));
      finish_copies(a, b);
    }
    for (Side* side : {&a, &b}) side->halves.load_scales();
    const Reg buffer = k_.mov(u32, 0), reading = k_.mov(u32, 0),
              writing = k_.mov(u32, (c_.stages - 1) * stage_.pitch());
    k_.for_(k_.mov(u32, 0), in_["k"], c_.tile_k, [&](Reg) {
      k_.cp_async_wait(c_.stages - 2);
      k_.barrier();  // the stage has arrived for all threads, and nobody multiplies what was in the buffer
      for (Side* side : {&a, &b}) side->copy.issue(writing);
      for (Side* side : {&a, &b}) {
        side->halves.convert(reading, buffer);
        side->halves.load_scales();
      }
      multiplier.publish();
      k_.barrier();
      multiplier.multiply(buffer);
      finish_copies(a, b);
      if (kind_.buffers == 2) k_.set(buffer, k_.sub(1, buffer));
      for (const Reg& stage : {reading, writing}) {
        const Reg next = k_.add(stage, stage_.pitch());
        k_.set(stage, k_.select(k_.eq(next, c_.stages * stage_.pitch()), k_.mov(u32, 0), next));
      }
    });
    k_.cp_async_wait();
    multiplier.finish();
  }

  KernelBuilder k_;
  const Problem& p_;
  const Config& c_;
  const MultiplierKind& kind_;
  kit::SharedLayout stage_, layout_;
  kit::ParamRegs in_;
  Reg thread_, shared_;
};

}  // namespace

int shared_bytes(const Problem& p, const Config& c, const MultiplierKind& kind) {
  return shared_of(p, c, kind.buffers).size();
}

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p,
                    const Config& c, const MultiplierKind& kind) {
  LaunchPlan launch{.entry = kName,
                    .grid = {static_cast<std::uint32_t>(tile_grid(p, c)), 1, 1},
                    .block = {static_cast<std::uint32_t>(tile_threads(c)), 1, 1},
                    .shared_bytes = static_cast<std::uint32_t>(shared_bytes(p, c, kind)),
                    .arguments = plain_params(p).arguments()};
  return {.module = Generator(std::move(specs), target, p, c, kind).run(), .launches = {std::move(launch)}};
}

}  // namespace ptxloom::scaled_gemm::dequantize
