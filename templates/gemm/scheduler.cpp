// SPDX-License-Identifier: Apache-2.0
#include "scheduler.hpp"

namespace ptxloom::gemm_kernel {

TileScheduler::TileScheduler(KernelBuilder& k, const Config& config, Reg m, Reg n, const BatchInputs& batches)
    : k_(k),
      c_(config),
      batches_(batches),
      m_(m),
      tiles_m_(k.div(k.add(m, config.tile_m - 1), config.tile_m)),
      tiles_n_(k.div(k.add(n, config.tile_n - 1), config.tile_n)) {}

TileOrigin TileScheduler::origin(Reg number) {
  std::optional<Reg> batch;
  if (of_batches()) {
    const Reg tiles = k_.mul(tiles_m_, tiles_n_);
    batch = k_.div(number, tiles);
    number = k_.rem(number, tiles);
  }
  const Reg band_tiles = k_.mul(tiles_n_, c_.raster), band = k_.div(number, band_tiles);
  const Reg first = k_.mul(band, c_.raster), rows = k_.min(k_.sub(tiles_m_, first), c_.raster);
  const Reg in_band = k_.rem(number, band_tiles);
  return {.row = k_.mul(k_.add(first, k_.rem(in_band, rows)), c_.tile_m),
          .column = k_.mul(k_.div(in_band, rows), c_.tile_n),
          .rows = m_,
          .batch = batch};
}

// What memory says of the tile; whether it is computed.
Reg TileScheduler::enter_group(TileOrigin& tile) {
  const bool masked = batches_.kind == GemmGroups::masked;
  k_.comment(masked ? "the rows of the tile's group" : "the group of the tile's rows");
  std::optional<Reg> index = tile.batch;
  if (!masked) index = k_.div(tile.row, kGroupRows);
  const Reg of_group = k_.load(
      "global", s32, k_.at(index ? k_.mad_wide(*index, s32.bytes(), *batches_.groups) : *batches_.groups));
  if (masked) {
    tile.rows = k_.min(KernelBuilder::as(u32, k_.max(of_group, 0)), m_);
    return k_.lt(tile.row, tile.rows);
  }
  tile.batch = KernelBuilder::as(u32, of_group);
  return k_.lt(*tile.batch, *batches_.count);
}

Reg TileScheduler::own_number() {
  const Reg block = k_.special("ctaid.x");
  return c_.split == 1 ? block : k_.div(block, c_.split);
}

TileOrigin TileScheduler::own() {
  TileOrigin tile = origin(own_number());
  if (batches_.groups) k_.guarded_not(enter_group(tile), [&] { k_.ret(); });
  return tile;
}

void TileScheduler::visit(Reg number, const std::function<void(const TileOrigin&)>& body) {
  TileOrigin tile = origin(number);
  if (!batches_.groups) return body(tile);
  k_.if_(enter_group(tile), [&] { body(tile); });
}

void TileScheduler::for_each(const std::function<void(const TileOrigin&)>& body) {
  if (c_.split > 1) return visit(own_number(), body);
  Reg tiles = k_.mul(tiles_m_, tiles_n_);
  if (of_batches()) tiles = k_.mul(tiles, *batches_.count);
  k_.for_(k_.special("ctaid.x"), tiles, k_.special("nctaid.x"), [&](Reg number) {
    k_.comment("the next tile of this block");
    visit(number, body);
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
