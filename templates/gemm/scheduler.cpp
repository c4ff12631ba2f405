// SPDX-License-Identifier: Apache-2.0
#include "scheduler.hpp"

namespace ptxloom::gemm_kernel {

TileScheduler::TileScheduler(KernelBuilder& k, const Config& config, Reg m, Reg n)
    : k_(k),
      c_(config),
      tiles_m_(k.div(k.add(m, config.tile_m - 1), config.tile_m)),
      tiles_n_(k.div(k.add(n, config.tile_n - 1), config.tile_n)) {}

TileOrigin TileScheduler::origin(Reg number) {
  const Reg band_tiles = k_.mul(tiles_n_, c_.raster), band = k_.div(number, band_tiles);
  const Reg first = k_.mul(band, c_.raster), rows = k_.min(k_.sub(tiles_m_, first), c_.raster);
  const Reg in_band = k_.rem(number, band_tiles);
  return {k_.mul(k_.add(first, k_.rem(in_band, rows)), c_.tile_m), k_.mul(k_.div(in_band, rows), c_.tile_n)};
}

TileOrigin TileScheduler::own() {
  const Reg block = k_.special("ctaid.x");
  return origin(c_.split == 1 ? block : k_.div(block, c_.split));
}

void TileScheduler::for_each(const std::function<void(const TileOrigin&)>& body) {
  if (c_.split > 1) return body(own());
  const Reg tiles = k_.mul(tiles_m_, tiles_n_);
  k_.for_(k_.special("ctaid.x"), tiles, k_.special("nctaid.x"), [&](Reg number) {
    k_.comment("the next tile of this block");
    body(origin(number));
  });
}

DepthPart TileScheduler::part(Reg depth) {
  if (c_.split == 1) return {k_.mov(u32, 0), depth};
  k_.comment("split: this block's part of k");
  const Reg rank = k_.special("cluster_ctarank");
  const Reg tiles = k_.div(k_.add(depth, c_.tile_k - 1), c_.tile_k);
  const auto border = [&](Reg parts) { return k_.mul(k_.div(k_.mul(tiles, parts), c_.split), c_.tile_k); };
  return {border(rank), k_.min(border(k_.add(rank, 1)), depth)};
}

}  // namespace ptxloom::gemm_kernel
