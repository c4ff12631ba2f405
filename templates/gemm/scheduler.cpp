// SPDX-License-Identifier: Apache-2.0
#include "scheduler.hpp"

namespace ptxloom::gemm_kernel {
namespace {

std::uint32_t parts_of(std::uint32_t extent, int size) {
  return (extent - 1) / static_cast<std::uint32_t>(size) + 1;
}

}  // namespace

TileScheduler::TileScheduler(KernelBuilder& k, const Problem& p, const Config& config, Reg m, Reg n)
    : k_(k), c_(config) {
  if (config.bake == Bake::mnk) {
    known_m_ = parts_of(p.m, config.cluster_m());
    known_n_ = parts_of(p.n, config.cluster_n());
  }
  const auto tiles = [&](std::optional<std::uint32_t> known, Reg extent, int size) {
    return known ? k.mov(u32, *known) : k.div(k.add(extent, size - 1), size);
  };
  tiles_m_ = tiles(known_m_, m, config.cluster_m());
  tiles_n_ = tiles(known_n_, n, config.cluster_n());
  if (config.sharing() > 1) rank_ = k.special("cluster_ctarank");
}

TileOrigin TileScheduler::origin(Reg number) {
  const auto raster = static_cast<std::uint32_t>(c_.raster);
  const Arg band_tiles = known_n_ ? Arg(*known_n_ * raster) : Arg(k_.mul(tiles_n_, raster));
  const Reg band = k_.div(number, band_tiles), in_band = k_.rem(number, band_tiles);
  const Reg first = k_.mul(band, raster), rows = k_.min(k_.sub(tiles_m_, first), raster);
  const Reg column = column_in_band(in_band, band, rows), row = k_.sub(in_band, k_.mul(column, rows));
  TileOrigin tile{k_.mul(k_.add(first, row), c_.cluster_m()), k_.mul(column, c_.cluster_n())};
  if (c_.multicast == Multicast::b) tile.row = k_.fma(rank_, c_.tile_m, tile.row);
  if (c_.multicast == Multicast::a) tile.column = k_.fma(rank_, c_.tile_n, tile.column);
  return tile;
}

TileOrigin TileScheduler::own() {
  const Reg block = k_.special("ctaid.x");
  return origin(c_.split == 1 ? block : k_.div(block, c_.split));
}

// Dividing by literals where they are known is far shorter: all bands but the last have as many rows.
Reg TileScheduler::column_in_band(Reg number, Reg band, Reg rows) {
  if (!known_m_) return k_.div(number, rows);
  const auto raster = static_cast<std::uint32_t>(c_.raster), last = *known_m_ % raster;
  const Reg column = k_.div(number, raster);
  return last == 0 ? column : k_.select(k_.lt(band, *known_m_ / raster), column, k_.div(number, last));
}

void TileScheduler::for_each(const std::function<void(const TileOrigin&)>& body) {
  if (c_.split > 1) return body(own());
  const Reg tiles = k_.mul(tiles_m_, tiles_n_);
  const auto of_clusters = [&](Reg blocks) {
    return c_.sharing() == 1 ? blocks : k_.div(blocks, c_.sharing());
  };
  const Reg first = of_clusters(k_.special("ctaid.x")), step = of_clusters(k_.special("nctaid.x"));
  k_.for_(first, tiles, step, [&](Reg number) {
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
