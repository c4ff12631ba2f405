// SPDX-License-Identifier: Apache-2.0
// The kernel: tiles of A and B arrive in a ring of stages, four warps multiply, and the epilogue is a
// callback.
#include <array>
#include <ptxloom/kit/activation.hpp>
#include <ptxloom/kit/epilogue.hpp>
#include <ptxloom/kit/fragments.hpp>
#include <ptxloom/kit/mma.hpp>
#include <ptxloom/kit/params.hpp>
#include <ptxloom/kit/shared_layout.hpp>
#include <ptxloom/kit/tile_copy.hpp>
#include <ptxloom/kit/tile_scheduler.hpp>

#include "swiglu.hpp"

namespace swiglu {
namespace {

using pl::Reg;
using pl::u32;
namespace kit = pl::kit;

kit::Params params(const Problem& p) {
  kit::Params params;
  params.size("m", u32, p.m).size("n", u32, p.n).size("k", u32, p.k);
  params.pointer("a", p.type).pointer("b", p.type).pointer("d", p.d);
  params.size("lda", u32, p.lda).size("ldb", u32, p.ldb).size("ldd", u32, p.ldd);
  return params;
}

/// A or B: its copy to shared memory, and its fragments of a k-step.
struct Operand {
  kit::TileCopy copy;
  kit::Fragments fragments;
  kit::Fragments::Tiles registers;
};

class Generator {
 public:
  Generator(std::shared_ptr<const pl::Specs> specs, const pl::Target& target, const Problem& p,
            const Config& c)
      : k_(std::move(specs), "swiglu", target),
        p_(p),
        c_(c),
        mma_(k_.specs().match(mma_opcode(p)).front()),
        products_(k_, mma_, c.warp_m(), c.warp_n()),
        a_tile_(kit::fragment_tile(p.type, true, c.tile_m, Config::kTileK)),
        b_tile_(kit::fragment_tile(p.type, true, c.tile_n, Config::kTileK)) {
    stage_.add("a", a_tile_.bytes(), 128).add("b", b_tile_.bytes(), 128);
  }

  int shared_bytes() const { return c_.stages * stage_.pitch(); }

  pl::ir::Module run() {
    k_.require_block(Config::kThreads);
    in_ = params(p_).declare(k_);
    thread_ = k_.special("tid.x");
    lane_ = k_.and_(thread_, 31);
    const Reg warp = k_.shr(thread_, 5);
    warp_row_ = k_.mul(k_.rem(warp, c_.warps_m), c_.warp_m());
    warp_column_ = k_.mul(k_.div(warp, c_.warps_m), c_.warp_n());
    shared_ = k_.address_of(k_.dynamic_shared("stages", 128));
    const Reg columns = k_.shl(in_["n"], 1);
    kit::TileScheduler tiles(k_, {.tile_m = c_.tile_m, .tile_n = c_.tile_n, .tile_k = Config::kTileK},
                             {.m = in_["m"], .n = columns, .k = in_["k"]});
    const kit::TileOrigin tile = tiles.own();
    Operand a = operand("A", p_.a(), a_tile_, tile.row, in_["m"], warp_row_);
    Operand b = operand("B", p_.b(), b_tile_, tile.column, columns, warp_column_);
    multiply(a, b);
    store(tile);
    k_.ret();
    return k_.finish();
  }

 private:
  Operand operand(std::string_view name, const kit::MatrixOperand& matrix, const kit::SwizzledTile& tile,
                  Reg origin, Reg extent, Reg warp_origin) {
    const bool is_a = name == "A";
    const Reg shared = stage_.address(k_, shared_, is_a ? "a" : "b");
    const kit::TileCopyShape copied{.type = p_.type,
                                    .access = kit::copy_access(k_.specs(), k_.target(), matrix),
                                    .threads = Config::kThreads};
    kit::TileCopy copy(k_, copied, tile,
                       {.pointer = in_[is_a ? "a" : "b"],
                        .ld = in_[is_a ? "lda" : "ldb"],
                        .origin = origin,
                        .extent = extent,
                        .k = in_["k"],
                        .shared = shared,
                        .thread = thread_});
    kit::Fragments fragments(
        k_, {.mma = mma_, .operand = name, .type = p_.type, .extent = is_a ? c_.warp_m() : c_.warp_n()}, tile,
        {.shared = shared, .warp_origin = warp_origin, .lane = lane_});
    kit::Fragments::Tiles registers = fragments.allocate();
    return {std::move(copy), std::move(fragments), std::move(registers)};
  }

  // The copies of a k-block form one group, which completes as a whole.
  void finish_copies(Operand& a, Operand& b) {
    a.copy.land();
    b.copy.land();
    if (asynchronous(a, b)) k_.cp_async_commit();
  }
  static bool asynchronous(const Operand& a, const Operand& b) {
    return a.copy.asynchronous() || b.copy.asynchronous();
  }

  void multiply(Operand& a, Operand& b) {
    accumulators_ = products_.zeros();
    for (int stage = 0; stage + 1 < c_.stages; ++stage) {
      const Reg there = k_.mov(u32, stage * stage_.pitch());
      a.copy.issue(there);
      b.copy.issue(there);
      finish_copies(a, b);
    }
    const Reg reading = k_.mov(u32, 0), writing = k_.mov(u32, (c_.stages - 1) * stage_.pitch());
    k_.for_(k_.mov(u32, 0), in_["k"], Config::kTileK, [&](Reg) {
      if (asynchronous(a, b)) k_.cp_async_wait(c_.stages - 2);
      k_.barrier();  // the stage has arrived for all threads, and nobody reads the one that is written next
      a.copy.issue(writing);
      b.copy.issue(writing);
      multiply_stage(a, b, reading);
      finish_copies(a, b);
      for (const Reg& stage : {reading, writing}) {
        const Reg next = k_.add(stage, stage_.pitch());
        k_.set(stage, k_.select(k_.eq(next, shared_bytes()), k_.mov(u32, 0), next));
      }
    });
    if (asynchronous(a, b)) k_.cp_async_wait();
  }

  void multiply_stage(Operand& a, Operand& b, Reg stage) {
    a.fragments.set_stage(stage);
    b.fragments.set_stage(stage);
    for (int step = 0; step < Config::kTileK / 16; ++step) {
      a.fragments.load(step, a.registers);
      b.fragments.load(step, b.registers);
      products_.multiply(a.registers, b.registers, accumulators_);
    }
  }

  void store(const kit::TileOrigin& tile) {
    const kit::EpiloguePart part{.mma = mma_,
                                 .accumulators = accumulators_,
                                 .row = k_.add(tile.row, warp_row_),
                                 .column = k_.add(tile.column, warp_column_),
                                 .thread = lane_};
    const kit::EpilogueMatrix d{
        .d = in_.pointer("d"), .rows = in_["m"], .columns = in_["n"], .pitch = in_["ldd"]};
    kit::store_pairs(k_, part, d, [](pl::KernelBuilder& k, Reg gate, Reg value, Reg /*row*/, Reg /*column*/) {
      return k.mul(kit::silu(k, gate), value);
    });
  }

  pl::KernelBuilder k_;
  const Problem& p_;
  const Config& c_;
  pl::Variant mma_;
  kit::MmaTiles products_;
  kit::SwizzledTile a_tile_, b_tile_;
  kit::SharedLayout stage_;
  kit::ParamRegs in_;
  Reg thread_, lane_, warp_row_, warp_column_, shared_;
  kit::Accumulators accumulators_;
};

}  // namespace

std::string mma_opcode(const Problem& p) {
  const std::string type(p.type.name);
  return "mma.sync.aligned.m16n8k16.row.col.f32." + type + "." + type + ".f32";
}

pl::Emitted emit_kernel(std::shared_ptr<const pl::Specs> specs, const pl::Target& target, const Problem& p,
                        const Config& c) {
  Generator generator(std::move(specs), target, p, c);
  pl::LaunchPlan launch{.entry = "swiglu",
                        .grid = {static_cast<std::uint32_t>(c.grid(p)), 1, 1},
                        .block = {Config::kThreads, 1, 1},
                        .shared_bytes = static_cast<std::uint32_t>(generator.shared_bytes()),
                        .arguments = params(p).arguments()};
  return {.module = generator.run(), .launches = {std::move(launch)}};
}

}  // namespace swiglu
