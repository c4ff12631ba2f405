// SPDX-License-Identifier: Apache-2.0
#include "gemm/epilogue/block_scales.hpp"

namespace ptxloom::gemm_kernel {
namespace {

std::optional<Reg> address_in(const TermInputs& terms, std::string_view name) {
  const auto found = terms.blocks.find(name);
  return found == terms.blocks.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

RowFactors::RowFactors(KernelBuilder& k, const Config& c, int tiles, kit::FragmentOrder rows, bool of_rows)
    : k_(k), map_(layout(c.mma, "D")), mma_m_(c.mma_m), order_(rows), of_rows_(of_rows) {
  for (int tile = 0; tile < tiles; ++tile)
    for (int reg = 0; reg < map_.registers; ++reg)
      if (const int row = row_of(tile, reg); !factors_.contains(row)) factors_[row] = k.reg(f32);
}

int RowFactors::row_of(int tile, int reg) const {
  return of_rows_ ? order_.origin(tile * mma_m_ + map_.at(0, reg).row) : 0;
}

void RowFactors::add(const kit::Accumulators& parts, const kit::Accumulators& sums) {
  for (std::size_t i = 0; i < sums.size(); ++i)
    for (std::size_t j = 0; j < sums[i].size(); ++j)
      for (std::size_t reg = 0; reg < sums[i][j].size(); ++reg) {
        const Reg factor = factors_.at(row_of(static_cast<int>(i), static_cast<int>(reg)));
        k_.emit("fma.rn.f32", sums[i][j][reg], parts[i][j][reg], factor, sums[i][j][reg]);
      }
}

BlockScales::BlockScales(KernelBuilder& k, const Config& config, const TermInputs& terms,
                         const BlockScaleInputs& in)
    : k_(k),
      c_(config),
      in_(in),
      a_(address_in(terms, "scale_a")),
      b_(address_in(terms, "scale_b")),
      last_(k.div(k.sub(in.depth, 1), kScaleBlock)),
      depth_(k.reg(u32)),
      factors_(k, config, in.tiles, in.rows, a_.has_value()),
      read_b_(k.reg(f32)) {
  for (const auto& [row, factor] : factors_.all()) rows_[row] = {.inside = k.reg(pred), .read = k.reg(f32)};
}

void BlockScales::start(Reg row, Reg column, Reg begin) {
  k_.comment("block scales: the first ones");
  k_.emit("mov.u32", depth_, begin);
  if (a_) {
    const Reg first = k_.fma(k_.shr(in_.lane, 2), in_.rows.step(), row);
    const Reg left = KernelBuilder::as(s32, k_.sub(in_.m, first));
    a_of_lane_ = k_.mad_wide(first, f32.bytes(), *a_);
    for (const auto& [number, of_row] : rows_) {
      k_.emit("setp.gt.s32", of_row.inside, left, number);
      k_.emit("mov.f32", of_row.read, Arg::zero(f32));
    }
  }
  if (b_) {
    const Reg block = k_.div(k_.min(column, k_.sub(in_.n, 1)), kScaleBlock);
    b_of_warp_ = k_.fma(k_.mul_wide(block, k_.add(last_, 1)), f32.bytes(), *b_);
  }
  read();
  advance();
}

// After the accumulation, so that no product waits for the factors to arrive.
void BlockScales::advance() {
  k_.comment("block scales: those of the next k-block; start loading those of the one after it");
  for (const auto& [number, factor] : factors_.all()) {
    const Reg of_a = rows_.at(number).read;
    if (a_ && b_)
      k_.emit("mul.f32", factor, of_a, read_b_);
    else
      k_.emit("mov.f32", factor, a_ ? of_a : read_b_);
  }
  k_.emit("add.u32", depth_, depth_, c_.tile_k);
  read();
}

// After the last block of k it reads the last one again.
void BlockScales::read() {
  const Reg block = k_.min(k_.div(depth_, kScaleBlock), last_);
  if (b_) k_.emit("ld.global.nc.f32", read_b_, k_.at(k_.mad_wide(block, f32.bytes(), b_of_warp_)));
  if (!a_) return;
  const Reg first = k_.fma(k_.mul_wide(block, in_.m), f32.bytes(), a_of_lane_);
  for (const auto& [number, row] : rows_) {
    const Reg into = row.read;
    const Address from = k_.at(first, number * f32.bytes());
    k_.guarded(row.inside, [&] { k_.emit("ld.global.nc.f32", into, from); });
  }
}

void BlockScales::add(const kit::Accumulators& parts, const kit::Accumulators& sums) {
  factors_.add(parts, sums);
  advance();
}

}  // namespace ptxloom::gemm_kernel
