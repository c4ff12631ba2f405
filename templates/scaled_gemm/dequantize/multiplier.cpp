// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/dequantize/multiplier.hpp"

#include <fmt/format.h>

#include "ptxloom/kit/fragments.hpp"
#include "ptxloom/kit/mma.hpp"
#include "ptxloom/kit/wgmma.hpp"
#include "scaled_gemm/dequantize/halves.hpp"

namespace ptxloom::scaled_gemm::dequantize {
namespace {

constexpr int kDepth = 16;  // elements of k of an instruction

class ByMmaSync final : public Multiplier {
 public:
  ByMmaSync(KernelBuilder& k, const Config& c, const MultiplierInputs& in)
      : k_(k),
        c_(c),
        mma_(*find_mma(k.specs(), k.target())),
        lane_(k.and_(in.thread, 31)),
        row_(k.mul(k.rem(k.shr(in.thread, 5), c.warps_m), warp_m(c))),
        column_(k.mul(k.div(k.shr(in.thread, 5), c.warps_m), warp_n(c))),
        a_(k, {.mma = mma_, .operand = "A", .type = bf16, .extent = warp_m(c)},
           halves_tile(c.tile_m, c.tile_k), {.shared = in.a, .warp_origin = row_, .lane = lane_}),
        b_(k, {.mma = mma_, .operand = "B", .type = bf16, .extent = warp_n(c)},
           halves_tile(c.tile_n, c.tile_k), {.shared = in.b, .warp_origin = column_, .lane = lane_}),
        of_a_(a_.allocate()),
        of_b_(b_.allocate()),
        products_(k, mma_, warp_m(c), warp_n(c)),
        accumulators_(products_.zeros()) {
    a_.set_stage(k.mov(u32, 0));
    b_.set_stage(k.mov(u32, 0));
  }

  void publish() override {}
  void multiply(Reg) override {
    for (int step = 0; step < c_.tile_k / kDepth; ++step) {
      a_.load(step, of_a_);
      b_.load(step, of_b_);
      products_.multiply(of_a_, of_b_, accumulators_);
    }
  }
  void finish() override {}
  WarpPart part(const kit::TileOrigin& tile) override {
    return {.mma = mma_,
            .accumulators = accumulators_,
            .row = k_.add(tile.row, row_),
            .column = k_.add(tile.column, column_),
            .lane = lane_};
  }

 private:
  KernelBuilder& k_;
  const Config& c_;
  Variant mma_;
  Reg lane_, row_, column_;
  kit::Fragments a_, b_;
  kit::Fragments::Tiles of_a_, of_b_;
  kit::MmaTiles products_;
  kit::Accumulators accumulators_;
};

/// The tile as wgmma reads it: rows of 128 bytes, in the same swizzle.
kit::TmaTile wgmma_tile(int rows, int depth) {
  const auto extent = static_cast<std::uint64_t>(rows), k = static_cast<std::uint64_t>(depth);
  return {{.type = bf16, .rows = extent, .cols = k, .ld = k}, rows, rows, depth};
}

class ByWgmma final : public Multiplier {
 public:
  ByWgmma(KernelBuilder& k, const Config& c, const MultiplierInputs& in)
      : k_(k),
        c_(c),
        mma_(*find_wgmma(k.specs(), k.target(), warp_n(c))),
        thread_(k.rem(in.thread, 32 * kWarpgroupWarps)),
        column_(k.mul(k.div(in.thread, 32 * kWarpgroupWarps), warp_n(c))),
        a_(k, wgmma_tile(c.tile_m, c.tile_k), in.a),
        b_(k, wgmma_tile(c.tile_n, c.tile_k), k.fma(column_, c.tile_k * bf16.bytes(), in.b)),
        add_(k.eq(thread_, thread_)) {
    for (int row = 0; row < c.tile_m; row += kWgmmaRows) {
      accumulators_.push_back({kit::wgmma_accumulators(k, mma_)});
      for (const Reg& sum : accumulators_.back().front()) k.emit("mov.f32", sum, Arg::zero(f32));
    }
  }

  void publish() override { kit::fence_for_bulk(k_); }
  void multiply(Reg buffer) override {
    const auto low = [&](kit::WgmmaOperand& operand, int rows) {
      return operand.low(k_, k_.mul(buffer, halves_tile(rows, c_.tile_k).bytes() / kit::WgmmaOperand::kUnit));
    };
    const Reg low_a = low(a_, c_.tile_m), low_b = low(b_, c_.tile_n);
    kit::wgmma_fence(k_);
    for (int depth = 0; depth < c_.tile_k; depth += kDepth) {
      const Reg b = b_.descriptor(k_, low_b, 0, depth);
      for (std::size_t i = 0; i < accumulators_.size(); ++i)
        kit::wgmma(k_, mma_, accumulators_[i].front(),
                   a_.descriptor(k_, low_a, static_cast<int>(i) * kWgmmaRows, depth), b, add_);
    }
    kit::wgmma_commit(k_);
    kit::wgmma_wait(k_, 1);
  }
  void finish() override { kit::wgmma_wait(k_); }
  WarpPart part(const kit::TileOrigin& tile) override {
    return {.mma = mma_,
            .accumulators = accumulators_,
            .row = tile.row,
            .column = k_.add(tile.column, column_),
            .lane = thread_};
  }

 private:
  KernelBuilder& k_;
  const Config& c_;
  Variant mma_;
  Reg thread_, column_;  // `thread_`: of the warpgroup
  kit::WgmmaOperand a_, b_;
  Reg add_;  // predicate, which holds
  kit::Accumulators accumulators_;
};

}  // namespace

std::unique_ptr<Multiplier> by_mma_sync(KernelBuilder& k, const Config& c, const MultiplierInputs& in) {
  return std::make_unique<ByMmaSync>(k, c, in);
}

std::unique_ptr<Multiplier> by_wgmma(KernelBuilder& k, const Config& c, const MultiplierInputs& in) {
  return std::make_unique<ByWgmma>(k, c, in);
}

std::optional<Variant> find_mma(const Specs& specs, const Target& target) {
  return specs.find("mma.sync", {{"shape", "m16n8k16"}, {"a", "bf16"}, {"b", "bf16"}, {"d", "f32"}}, target);
}

std::optional<Variant> find_wgmma(const Specs& specs, const Target& target, int n) {
  const std::string columns = std::to_string(n), shape = fmt::format("m64n{}k16", columns);
  return specs.find("wgmma.mma_async",
                    {{"shape", shape},
                     {"N", columns},
                     {"ratio", "1"},
                     {"a", "bf16"},
                     {"b", "bf16"},
                     {"d", "f32"},
                     {"source", "descriptor"}},
                    target);
}

}  // namespace ptxloom::scaled_gemm::dequantize
