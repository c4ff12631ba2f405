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

void TileScheduler::for_each(const std::function<void(const TileOrigin&)>& body) {
  const Reg tiles = k_.mul(tiles_m_, tiles_n_);
  k_.for_(k_.special("ctaid.x"), tiles, k_.special("nctaid.x"), [&](Reg number) {
    k_.comment("the next tile of this block");
    body(origin(number));
  });
}

}  // namespace ptxloom::gemm_kernel
