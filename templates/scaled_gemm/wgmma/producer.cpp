// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/wgmma/producer.hpp"

#include "scaled_gemm/products.hpp"
#include "scaled_gemm/weights/weight_groups.hpp"

namespace ptxloom::scaled_gemm::wgmma {

Producer::Producer(KernelBuilder& k, const Problem& p, const Config& c, const Plan& plan,
                   kit::Pipeline& pipeline, const kit::ParamRegs& in, Reg stages)
    : k_(k),
      p_(p),
      c_(c),
      plan_(plan),
      pipeline_(pipeline),
      in_(in),
      stages_(stages),
      activations_(k, c.share),
      cursor_(pipeline.producer()) {
  if (p.m <= static_cast<std::uint32_t>(c.tile_m)) passing_ = kit::evict_first_policy(k);
}

void Producer::run(kit::TileScheduler& tiles) {
  tiles.for_each([&](const kit::TilePortion& portion) {
    k_.for_(portion.depth.begin, portion.depth.end, c_.tile_k, [&](Reg depth) {
      k_.pragma("\"nounroll\"");
      fill(portion.tile, depth);
    });
  });
  if (c_.share == 1) return;
  k_.comment("load: wait until the other thread block's warps have released these stages");
  pipeline_.drain(cursor_);
}

void Producer::fill(const kit::TileOrigin& tile, Reg depth) {
  k_.comment("load: wait for the stage to be empty");
  pipeline_.acquire(cursor_);
  k_.comment("load: fill it with the next k-block");
  const Reg full = pipeline_.full(cursor_), stage = k_.fma(cursor_.stage, plan_.stage_bytes, stages_);
  pipeline_.expect(full, plan_.bytes_of_stage());
  const kit::WeightLayout layout = p_.b.weights();
  const auto wide = [&](Reg number) { return k_.convert(u64, number); };
  for (int i = 0; i < row_tiles(c_); ++i) {
    const Reg row = row_tile_of_all(k_, p_, tile.batch, row_tile(tile, i));
    const Reg unit = k_.mad_wide(row, static_cast<std::int64_t>(layout.depth_tiles()),
                                 wide(k_.div(depth, layout.tile_depth())));
    copy("weights", plan_.weight_bytes,
         k_.fma(unit, static_cast<std::int64_t>(layout.tile_bytes()), in_["b"]), stage, i, full);
    const Reg group = k_.mad_wide(row, static_cast<std::int64_t>(layout.groups(p_.b.format.block)),
                                  wide(WeightGroups::group_at(k_, p_, depth)));
    const int size = kRows * p_.b.format.scale.bytes();
    copy("scales", plan_.scale_bytes, k_.fma(group, size, in_["scale_b"]), stage, i, full);
    if (p_.b.zero_points())
      copy("zeros", plan_.zero_bytes, k_.fma(group, kRows, in_["zero_b"]), stage, i, full);
  }
  activations_.load(
      plan_.activations, in_["a"],
      {.extent = tile.column, .depth = depth, .batch = p_.separate() ? tile.batch : std::nullopt},
      plan_.stage.address(k_, stage, "activations"), full);
  pipeline_.advance(cursor_);
}

Reg Producer::row_tile(const kit::TileOrigin& tile, int number) {
  const auto last = static_cast<std::int64_t>(p_.b.weights().row_tiles()) - 1;
  const Reg row = k_.add(k_.div(tile.row, kRows), number);
  return number == 0 && c_.share == 1 ? row : k_.min(row, last);
}

void Producer::copy(std::string_view name, int bytes, Reg from, Reg stage, int number, Reg full) {
  const Reg to = k_.add(plan_.stage.address(k_, stage, name), number * bytes);
  kit::bulk_load(k_, k_.at(to), k_.at(from), bytes, full, {.policy = passing_});
}

}  // namespace ptxloom::scaled_gemm::wgmma
