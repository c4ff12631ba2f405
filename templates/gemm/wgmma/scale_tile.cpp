// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/scale_tile.hpp"

namespace ptxloom::gemm_kernel::wgmma {
namespace {

constexpr int kWidestBox = 256;  // elements
constexpr int kLineFactors = 32;

int divided(int factors, int by) { return (factors + by - 1) / by; }

}  // namespace

TensorMap ScaleBoxes::map() const {
  return {.type = f32,
          .rank = 1,
          .dims = {factors},
          .box = {static_cast<std::uint32_t>(width), 1, 1, 1, 1},
          .l2 = L2Promotion::to_256_bytes};
}

ScaleTile::ScaleTile(const Problem& p, const Config& c) {
  if (p.terms.scale_a == GemmScale::block) {
    const int factors = c.tile_m + ScaleBoxes::kUnit - 1, boxes = divided(factors, kWidestBox);
    a = {.factors = scale_blocks(p.k) * p.m,
         .number = boxes,
         .width = divided(divided(factors, boxes), kLineFactors) * kLineFactors};
  }
  if (p.terms.scale_b == GemmScale::block)
    b = {.factors = scale_blocks(p.n) * scale_blocks(p.k),
         .number = divided(c.tile_n, kScaleBlock),
         .width = kLineFactors};
}

TensorMaps ScaleTile::maps() const {
  TensorMaps all;
  if (a.any()) all["scale_a"] = a.map();
  if (b.any()) all["scale_b"] = b.map();
  return all;
}

}  // namespace ptxloom::gemm_kernel::wgmma
