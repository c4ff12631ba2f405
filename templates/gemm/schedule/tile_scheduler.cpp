// SPDX-License-Identifier: Apache-2.0
#include "gemm/schedule/tile_scheduler.hpp"

namespace ptxloom::gemm_kernel {
namespace {

std::uint32_t parts_of(std::uint32_t extent, int size) {
  return (extent - 1) / static_cast<std::uint32_t>(size) + 1;
}

}  // namespace

TileScheduler::TileScheduler(KernelBuilder& k, const Problem& p, const Config& config, Reg m, Reg n,
                             Reg depth, const BatchInputs& batches, std::optional<Reg> division)
    : k_(k), c_(config), batches_(batches), rows_(config.places(m, n).first), depth_(depth) {
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
  if (division) stream_.emplace(k, *division);
}

void TileScheduler::divide() {
  const Reg steps = k_.div(k_.add(depth_, c_.tile_k - 1), c_.tile_k);
  stream_->divide(all_tiles(), steps, of_clusters("ctaid.x"), of_clusters("nctaid.x"));
}

Arg TileScheduler::tiles_of_batch() {
  return known_m_ ? Arg(*known_m_ * *known_n_) : Arg(k_.mul(tiles_m_, tiles_n_));
}

// For a cluster, the origin of the first thread block's tile.
TileOrigin TileScheduler::origin(Reg number) {
  std::optional<Reg> batch;
  if (of_batches()) {
    const Arg tiles = tiles_of_batch();
    batch = k_.div(number, tiles);
    number = k_.rem(number, tiles);
  }
  const auto raster = static_cast<std::uint32_t>(c_.raster);
  const Arg band_tiles = known_n_ ? Arg(*known_n_ * raster) : Arg(k_.mul(tiles_n_, raster));
  const Reg band = k_.div(number, band_tiles), in_band = k_.rem(number, band_tiles);
  const Reg first = k_.mul(band, raster), rows = k_.min(k_.sub(tiles_m_, first), raster);
  const Reg column = column_in_band(in_band, band, rows), row = k_.sub(in_band, k_.mul(column, rows));
  return {.row = k_.mul(k_.add(first, row), c_.cluster_m()),
          .column = k_.mul(column, c_.cluster_n()),
          .rows = rows_,
          .batch = batch};
}

TileOrigin TileScheduler::in_pair(TileOrigin pair) {
  if (c_.multicast == Multicast::b) pair.row = k_.fma(rank_, c_.tile_m, pair.row);
  if (c_.multicast == Multicast::a) pair.column = k_.fma(rank_, c_.tile_n, pair.column);
  return pair;
}

// Reads the group of a tile, or of a cluster's tiles, from memory. Returns whether they are computed: thread
// blocks that load for each other decide together.
Reg TileScheduler::enter_group(TileOrigin& pair) {
  const bool masked = batches_.kind == GemmGroups::masked;
  k_.comment(masked ? "the rows of the tile's group" : "the group of the tile's rows");
  const Reg row = c_.places(pair.row, pair.column).first;
  std::optional<Reg> index = pair.batch;
  if (!masked) index = k_.div(row, kGroupRows);
  const Reg of_group = k_.load(
      "global", s32, k_.at(index ? k_.mad_wide(*index, s32.bytes(), *batches_.groups) : *batches_.groups));
  if (masked) {
    pair.rows = k_.min(KernelBuilder::as(u32, k_.max(of_group, 0)), rows_);
    return k_.lt(row, pair.rows);
  }
  pair.batch = KernelBuilder::as(u32, of_group);
  return k_.lt(*pair.batch, *batches_.count);
}

Reg TileScheduler::own_number() {
  const Reg block = k_.special("ctaid.x");
  return c_.split == 1 ? block : k_.div(block, c_.split);
}

// Converts a number of thread blocks to one of clusters that share operands.
Reg TileScheduler::of_clusters(const char* blocks) {
  const Reg number = k_.special(blocks);
  return c_.sharing() == 1 ? number : k_.div(number, c_.sharing());
}

TileOrigin TileScheduler::own() {
  TileOrigin tile = origin(own_number());
  if (batches_.groups) k_.guarded_not(enter_group(tile), [&] { k_.ret(); });
  return in_pair(tile);
}

void TileScheduler::visit(Reg number, const std::function<void(const TileOrigin&)>& body) {
  TileOrigin tile = origin(number);
  if (!batches_.groups) return body(in_pair(tile));
  k_.if_(enter_group(tile), [&] { body(in_pair(tile)); });
}

// Division by a literal is much shorter: all bands but the last have the same number of rows.
Reg TileScheduler::column_in_band(Reg number, Reg band, Reg rows) {
  if (!known_m_) return k_.div(number, rows);
  const auto raster = static_cast<std::uint32_t>(c_.raster), last = *known_m_ % raster;
  const Reg column = k_.div(number, raster);
  return last == 0 ? column : k_.select(k_.lt(band, *known_m_ / raster), column, k_.div(number, last));
}

Reg TileScheduler::all_tiles() {
  const Reg tiles = k_.mul(tiles_m_, tiles_n_);
  return of_batches() ? k_.mul(tiles, *batches_.count) : tiles;
}

void TileScheduler::for_each(const std::function<void(const Portion&)>& body, std::optional<Reg> turn) {
  if (stream_)
    return stream_->for_each([&](const StreamPortion& portion) {
      const Reg begin = k_.mul(portion.begin, c_.tile_k), end = k_.mul(portion.end, c_.tile_k);
      body({in_pair(origin(portion.tile)), {begin, k_.min(end, depth_)}, portion});
    });
  const DepthPart depth = part();
  const auto visit_whole = [&](Reg number) {
    visit(number, [&](const TileOrigin& tile) { body({tile, depth}); });
  };
  if (c_.split > 1) return visit_whole(own_number());
  const TileNumbers own = numbers(turn);
  k_.for_(own.first, own.end, own.step, [&](Reg number) {
    k_.comment(turn ? "the next tile of this warpgroup" : "the next tile of this thread block");
    visit_whole(number);
  });
}

TileNumbers TileScheduler::numbers(std::optional<Reg> turn) {
  Reg first = of_clusters("ctaid.x"), step = of_clusters("nctaid.x");
  if (turn) {
    first = k_.fma(*turn, step, first);
    step = k_.mul(step, c_.tiles_in_flight());
  }
  return {first, step, all_tiles()};
}

void TileScheduler::for_each_shared(const std::function<void(const TileOrigin&, const SharedTile&)>& body) {
  stream_->for_each_shared([&](const SharedTile& tile) { body(in_pair(origin(tile.tile)), tile); });
}

DepthPart TileScheduler::part() {
  if (c_.split == 1) return {k_.mov(u32, 0), depth_};
  k_.comment("split: this thread block's part of k");
  const Reg rank = k_.special("cluster_ctarank");
  const Reg tiles = k_.div(k_.add(depth_, c_.tile_k - 1), c_.tile_k);
  const auto border = [&](Reg parts) { return k_.mul(k_.div(k_.mul(tiles, parts), c_.split), c_.tile_k); };
  return {border(rank), k_.min(border(k_.add(rank, 1)), depth_)};
}

}  // namespace ptxloom::gemm_kernel
