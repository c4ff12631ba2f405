// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/mainloop/staged_scales.hpp"

namespace ptxloom::gemm_kernel::wgmma {

void ScaleLoads::copy(const Origin& origin, Reg to, Reg barrier) {
  if (!tile_.any()) return;
  const auto copy_box = [&](std::string_view name, Reg first, int offset) {
    const std::vector at{k_.and_(first, -ScaleBoxes::kUnit)};
    kit::tma_load(k_, maps_.at(name), at, k_.at(to, offset), barrier);
  };
  const Reg block = places_.block(origin.depth);
  for (int box = 0; box < tile_.a.number; ++box)
    copy_box("scale_a", places_.of_row(k_.add(origin.row, box * tile_.a.width), block),
             box * tile_.a.box_bytes());
  for (int box = 0; box < tile_.b.number; ++box)
    copy_box("scale_b", places_.of_column(k_.add(origin.column, box * kScaleBlock), block),
             tile_.a.bytes() + box * tile_.b.box_bytes());
}

StagedScales::StagedScales(KernelBuilder& k, const Config& c, const Plan& plan, const ScalePlaces& places,
                           const Inputs& in)
    : k_(k),
      c_(c),
      plan_(plan),
      places_(places),
      factors_(k, c, warpgroup_m(c) / kWgmmaRows, {}, plan.scales.a.any()),
      depth_(k.reg(u32)) {
  const Reg of_a = plan.stage.address(k, in.stages, "scales"), of_b = k.add(of_a, plan.scales.a.bytes());
  a_of_lane_ = k.fma(k.add(in.row, k.shr(in.lane, 2)), f32.bytes(), of_a);
  b_of_warpgroup_ = k.fma(k.div(in.column, kScaleBlock), plan.scales.b.box_bytes(), of_b);
}

void StagedScales::start(Reg row, Reg column, Reg begin) {
  row_ = row;
  column_ = column;
  k_.emit("mov.u32", depth_, begin);
}

// Between warp barriers: otherwise ptxas moves the loads, and the wait for them, between the products issued
// before. They also ensure that all lanes have read when one of them releases the stage.
void StagedScales::read(Reg stage) {
  k_.comment("block scales: the factors of the stage");
  const auto address = [&](Reg first, Reg place) {
    const Reg early = k_.mul(k_.and_(place, ScaleBoxes::kUnit - 1), f32.bytes());
    return k_.add(k_.fma(stage, plan_.stage_bytes, first), early);
  };
  const bool of_a = plan_.scales.a.any(), of_b = plan_.scales.b.any();
  const Reg block = places_.block(depth_), of_columns = k_.reg(f32);
  k_.emit("bar.warp.sync", -1);
  if (of_b) {
    const Reg from = address(b_of_warpgroup_, places_.of_column(column_, block));
    k_.emit("ld.shared.f32", of_columns, k_.at(from));
  }
  if (of_a) {
    const Reg from = address(a_of_lane_, places_.of_row(row_, block));
    for (const auto& [row, factor] : factors_.all())
      k_.emit("ld.shared.f32", factor, k_.at(from, row * f32.bytes()));
  }
  k_.emit("bar.warp.sync", -1);
  for (const auto& [row, factor] : factors_.all()) {
    if (of_a && of_b)
      k_.emit("mul.f32", factor, factor, of_columns);
    else if (of_b)
      k_.emit("mov.f32", factor, of_columns);
  }
  k_.emit("add.u32", depth_, depth_, c_.tile_k);
}

}  // namespace ptxloom::gemm_kernel::wgmma
