// SPDX-License-Identifier: Apache-2.0
// Tiles of A and B arrive in a ring of stages, and the scales of the next k-block in registers, while the
// warps multiply a k-block.
#include "scaled_gemm/block_scale.hpp"

#include <fmt/format.h>

#include <utility>

#include "ptxloom/kit/epilogue.hpp"
#include "ptxloom/kit/fragments.hpp"
#include "ptxloom/kit/mma.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/shared_layout.hpp"
#include "ptxloom/kit/tile_copy.hpp"
#include "ptxloom/kit/tile_scheduler.hpp"
#include "scaled_gemm/scale_loads.hpp"

namespace ptxloom::scaled_gemm {
namespace {

kit::Params params(const Problem& p) {
  kit::Params params;
  params.size("m", u32, p.m).size("n", u32, p.n).size("k", u32, p.k);
  params.pointer("a", p.a.format.element).pointer("b", p.b.format.element);
  params.pointer("scale_a", p.a.format.scale).pointer("scale_b", p.b.format.scale).pointer("d", p.d);
  params.size("lda", u32, p.a.ld).size("ldb", u32, p.b.ld).size("ldd", u32, p.ldd);
  return params;
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
        products_(k_, mma_, c.warp_m(), c.warp_n()),
        a_tile_(kit::fragment_tile(p.a.format.element, true, c.tile_m, Config::kTileK)),
        b_tile_(kit::fragment_tile(p.b.format.element, true, c.tile_n, Config::kTileK)) {
    stage_.add("a", a_tile_.bytes(), 128).add("b", b_tile_.bytes(), 128);
  }

  int shared_bytes() const { return c_.stages * stage_.pitch(); }

  ir::Module run() {
    k_.require_block(static_cast<std::uint32_t>(c_.threads()));
    in_ = params(p_).declare(k_);
    thread_ = k_.special("tid.x");
    lane_ = k_.and_(thread_, 31);
    const Reg warp = k_.shr(thread_, 5);
    warp_row_ = k_.mul(k_.rem(warp, c_.warps_m), c_.warp_m());
    warp_column_ = k_.mul(k_.div(warp, c_.warps_m), c_.warp_n());
    shared_ = k_.address_of(k_.dynamic_shared("stages", 128));
    kit::TileScheduler tiles(k_, {.tile_m = c_.tile_m, .tile_n = c_.tile_n, .tile_k = Config::kTileK},
                             {.m = in_["m"], .n = in_["n"], .k = in_["k"]});
    const kit::TileOrigin tile = tiles.own();
    Side a = side("A", p_.a, a_tile_, tile.row, warp_row_);
    Side b = side("B", p_.b, b_tile_, tile.column, warp_column_);
    multiply(a, b);
    store(tile);
    k_.ret();
    return k_.finish();
  }

 private:
  Side side(std::string_view name, const Operand& operand, const kit::SwizzledTile& tile, Reg origin,
            Reg warp_origin) {
    const bool is_a = name == "A";
    const Reg shared = stage_.address(k_, shared_, is_a ? "a" : "b"), extent = in_[is_a ? "m" : "n"];
    const int part = is_a ? c_.warp_m() : c_.warp_n();
    const kit::TileCopyShape copied{.type = operand.format.element,
                                    .access = kit::copy_access(k_.specs(), k_.target(), operand.matrix()),
                                    .threads = c_.threads()};
    kit::TileCopy copy(k_, copied, tile,
                       {.pointer = in_[is_a ? "a" : "b"],
                        .ld = in_[is_a ? "lda" : "ldb"],
                        .origin = origin,
                        .extent = extent,
                        .k = in_["k"],
                        .shared = shared,
                        .thread = thread_});
    kit::Fragments fragments(k_,
                             {.mma = mma_, .operand = name, .type = operand.format.element, .extent = part},
                             tile, {.shared = shared, .warp_origin = warp_origin, .lane = lane_});
    kit::Fragments::Tiles registers = fragments.allocate();
    const int block = static_cast<int>(operand.format.block);
    const Reg count = k_.div(k_.add(in_["k"], block - 1), block);
    ScaleLoads loads(k_, mma_, is_a ? "SA" : "SB", operand, part,
                     {.pointer = in_[is_a ? "scale_a" : "scale_b"],
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
    k_.for_(k_.mov(u32, 0), in_["k"], Config::kTileK, [&](Reg) {
      if (asynchronous(a, b)) k_.cp_async_wait(c_.stages - 2);
      k_.barrier();  // the stage has arrived for all threads, and nobody reads the one that is written next
      a.copy.issue(writing);
      b.copy.issue(writing);
      k_.set(column, k_.add(column, ScaleLoads::kPerRegister));
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
    for (int step = 0; step < Config::kTileK / layout(mma_, "A").cols; ++step) {
      a.fragments.load(step, a.registers);
      b.fragments.load(step, b.registers);
      multiply_step(a, b, step);
    }
  }

  // The byte selector chooses the scales of this k-step among the four of a register.
  void multiply_step(const Side& a, const Side& b, int step) {
    for (std::size_t i = 0; i < a.registers.size(); ++i)
      for (std::size_t j = 0; j < b.registers.size(); ++j) {
        const std::vector<Reg>& d = accumulators_[i][j];
        k_.emit(mma_, d, a.registers[i], b.registers[j], d, a.scales[i], step, 0, b.scales[j], step, 0);
      }
  }

  void store(const kit::TileOrigin& tile) {
    const kit::EpiloguePart part{.mma = mma_,
                                 .accumulators = accumulators_,
                                 .row = k_.add(tile.row, warp_row_),
                                 .column = k_.add(tile.column, warp_column_),
                                 .thread = lane_};
    kit::store_tile(k_, part,
                    {.d = in_.pointer("d"),
                     .rows = in_["m"],
                     .columns = in_["n"],
                     .pitch = in_["ldd"],
                     .vector = kit::EpilogueMatrix::vector_of(p_.ldd, p_.n)});
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

std::string mma_opcode(const Problem& p) {
  return fmt::format(
      "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.{}.{}.f32.{}",
      p.a.format.element.name, p.b.format.element.name, p.a.format.scale.name);
}

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p,
                    const Config& c) {
  Generator generator(std::move(specs), target, p, c);
  LaunchPlan launch{.entry = "scaled_gemm",
                    .grid = {static_cast<std::uint32_t>(c.grid(p)), 1, 1},
                    .block = {static_cast<std::uint32_t>(c.threads()), 1, 1},
                    .shared_bytes = static_cast<std::uint32_t>(generator.shared_bytes()),
                    .arguments = params(p).arguments()};
  return {.module = generator.run(), .launches = {std::move(launch)}};
}

}  // namespace ptxloom::scaled_gemm
