// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/tile_scheduler.hpp"

#include <fmt/format.h>

#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

std::uint32_t parts_of(std::uint32_t extent, int size) {
  return (extent - 1) / static_cast<std::uint32_t>(size) + 1;
}

[[noreturn]] void refuse(const std::string& what, const char* hint) {
  throw Error(ErrorKind::usage, "bad-schedule", "a tile scheduler: " + what, hint);
}

void require(const TileSchedule& s, const TileProblem& p) {
  const TileGroups& groups = p.groups;
  const int rows = groups.columns ? s.pair_n() : s.pair_m();
  if (s.tile_m < 1 || s.tile_n < 1 || s.tile_k < 1 || s.split < 1 || s.raster < 1 || s.in_flight < 1 ||
      (s.known && (s.known->m == 0 || s.known->n == 0)))
    refuse("an extent or a number below 1", "set tile_m, tile_n and tile_k; leave the others at 1 or above");
  if (s.split > 1 && (s.sharing() > 1 || p.division))
    refuse("a split of k beside a pair or stream-K", "leave split at 1, or use neither of them");
  if (groups.kind != TileGroups::Kind::none && p.division)
    refuse("groups and stream-K", "share the k-blocks of products of one size only");
  if (groups.kind != TileGroups::Kind::contiguous) return;
  if (!p.batches) refuse("contiguous groups, and no number of batches", "set TileProblem::batches");
  if (groups.run < 1 || groups.run % rows != 0)
    refuse(fmt::format("tiles or pairs of {} rows in runs of {}", rows, groups.run),
           "choose tiles whose rows divide those of a run");
}

}  // namespace

TileScheduler::TileScheduler(KernelBuilder& k, const TileSchedule& schedule, const TileProblem& problem)
    : k_(k),
      schedule_(schedule),
      batches_(problem.batches),
      groups_(problem.groups),
      rows_(problem.groups.columns ? problem.n : problem.m),
      depth_(problem.k) {
  require(schedule, problem);
  if (schedule.known) {
    known_m_ = parts_of(schedule.known->m, schedule.pair_m());
    known_n_ = parts_of(schedule.known->n, schedule.pair_n());
  }
  const auto tiles = [&](std::optional<std::uint32_t> known, Reg extent, int size) {
    return known ? k.mov(u32, *known) : k.div(k.add(extent, size - 1), size);
  };
  tiles_m_ = tiles(known_m_, problem.m, schedule.pair_m());
  tiles_n_ = tiles(known_n_, problem.n, schedule.pair_n());
  if (schedule.sharing() > 1) rank_ = k.special("cluster_ctarank");
  if (problem.division) stream_.emplace(k, *problem.division);
}

void TileScheduler::divide() {
  const Reg steps = k_.div(k_.add(depth_, schedule_.tile_k - 1), schedule_.tile_k);
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
  const auto raster = static_cast<std::uint32_t>(schedule_.raster);
  const Arg band_tiles = known_n_ ? Arg(*known_n_ * raster) : Arg(k_.mul(tiles_n_, raster));
  const Reg band = k_.div(number, band_tiles), in_band = k_.rem(number, band_tiles);
  const Reg first = k_.mul(band, raster), rows = k_.min(k_.sub(tiles_m_, first), raster);
  const Reg column = column_in_band(in_band, band, rows), row = k_.sub(in_band, k_.mul(column, rows));
  return {.row = k_.mul(k_.add(first, row), schedule_.pair_m()),
          .column = k_.mul(column, schedule_.pair_n()),
          .rows = rows_,
          .batch = batch};
}

TileOrigin TileScheduler::in_pair(TileOrigin pair) {
  if (schedule_.pair == TilePair::below) pair.row = k_.fma(rank_, schedule_.tile_m, pair.row);
  if (schedule_.pair == TilePair::beside) pair.column = k_.fma(rank_, schedule_.tile_n, pair.column);
  return pair;
}

// Reads the group of a tile, or of a cluster's tiles, from memory. Returns whether they are computed: thread
// blocks that load for each other decide together.
Reg TileScheduler::enter_group(TileOrigin& pair) {
  const bool masked = groups_.kind == TileGroups::Kind::masked;
  k_.comment(masked ? "the rows of the tile's group" : "the group of the tile's rows");
  const Reg row = groups_.columns ? pair.column : pair.row;
  std::optional<Reg> index = pair.batch;
  if (!masked) index = k_.div(row, groups_.run);
  const Reg of_group = k_.load(
      "global", s32, k_.at(index ? k_.mad_wide(*index, s32.bytes(), groups_.address) : groups_.address));
  if (masked) {
    pair.rows = k_.min(KernelBuilder::as(u32, k_.max(of_group, 0)), rows_);
    return k_.lt(row, pair.rows);
  }
  pair.batch = KernelBuilder::as(u32, of_group);
  return k_.lt(*pair.batch, *batches_);
}

Reg TileScheduler::own_number() {
  const int cluster = schedule_.split * schedule_.sharing();
  const Reg block = k_.special("ctaid.x");
  return cluster == 1 ? block : k_.div(block, cluster);
}

// Converts a number of thread blocks to one of clusters that share operands.
Reg TileScheduler::of_clusters(const char* blocks) {
  const Reg number = k_.special(blocks);
  return schedule_.sharing() == 1 ? number : k_.div(number, schedule_.sharing());
}

TileOrigin TileScheduler::own() {
  TileOrigin tile = origin(own_number());
  if (grouped()) k_.guarded_not(enter_group(tile), [&] { k_.ret(); });
  return in_pair(tile);
}

void TileScheduler::visit(Reg number, const std::function<void(const TileOrigin&)>& body) {
  TileOrigin tile = origin(number);
  if (!grouped()) return body(in_pair(tile));
  k_.if_(enter_group(tile), [&] { body(in_pair(tile)); });
}

// Division by a literal is much shorter: all bands but the last have the same number of rows.
Reg TileScheduler::column_in_band(Reg number, Reg band, Reg rows) {
  if (!known_m_) return k_.div(number, rows);
  const auto raster = static_cast<std::uint32_t>(schedule_.raster), last = *known_m_ % raster;
  const Reg column = k_.div(number, raster);
  return last == 0 ? column : k_.select(k_.lt(band, *known_m_ / raster), column, k_.div(number, last));
}

Reg TileScheduler::all_tiles() {
  const Reg tiles = k_.mul(tiles_m_, tiles_n_);
  return of_batches() ? k_.mul(tiles, *batches_) : tiles;
}

void TileScheduler::for_each(const std::function<void(const TilePortion&)>& body,
                             std::optional<Reg> consumer) {
  if (stream_)
    return stream_->for_each([&](const StreamKPortion& portion) {
      const Reg begin = k_.mul(portion.begin, schedule_.tile_k), end = k_.mul(portion.end, schedule_.tile_k);
      body({in_pair(origin(portion.tile)), {begin, k_.min(end, depth_)}, portion});
    });
  const DepthPart depth = part();
  const auto visit_whole = [&](Reg number) {
    visit(number, [&](const TileOrigin& tile) { body({tile, depth}); });
  };
  if (schedule_.split > 1) return visit_whole(own_number());
  const TileNumbers own = numbers(consumer);
  k_.for_(own.first, own.end, own.step, [&](Reg number) {
    k_.comment(consumer ? "the next tile of this warpgroup" : "the next tile of this thread block");
    visit_whole(number);
  });
}

TileNumbers TileScheduler::numbers(std::optional<Reg> consumer) {
  Reg first = of_clusters("ctaid.x"), step = of_clusters("nctaid.x");
  if (consumer) {
    first = k_.fma(*consumer, step, first);
    step = k_.mul(step, schedule_.in_flight);
  }
  return {first, step, all_tiles()};
}

void TileScheduler::for_each_shared(const std::function<void(const TileOrigin&, const SharedTile&)>& body) {
  stream_->for_each_shared([&](const SharedTile& tile) { body(in_pair(origin(tile.tile)), tile); });
}

DepthPart TileScheduler::part() {
  if (schedule_.split == 1) return {k_.mov(u32, 0), depth_};
  k_.comment("split: this thread block's part of k");
  const Reg rank = k_.special("cluster_ctarank");
  const Reg tiles = k_.div(k_.add(depth_, schedule_.tile_k - 1), schedule_.tile_k);
  const auto border = [&](Reg parts) {
    return k_.mul(k_.div(k_.mul(tiles, parts), schedule_.split), schedule_.tile_k);
  };
  return {border(rank), k_.min(border(k_.add(rank, 1)), depth_)};
}

}  // namespace ptxloom::kit
