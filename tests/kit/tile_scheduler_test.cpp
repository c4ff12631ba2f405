// SPDX-License-Identifier: Apache-2.0
// Every thread block writes down which tiles it computes; they are compared with a list that is made on the
// host by counting.
#include "ptxloom/kit/tile_scheduler.hpp"

#include <algorithm>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <tuple>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/kit/params.hpp"

using namespace ptxloom;
using Catch::Matchers::ContainsSubstring;
using kit::TileGroups;
using kit::TilePair;
using kit::TilePortion;
using kit::TileSchedule;

namespace {

constexpr std::uint32_t kMostTiles = 48;  // tiles of a thread block
constexpr std::uint32_t kNoTile = 0xffff'ffff;

struct TileCase {
  TileSchedule schedule;
  std::uint32_t m = 1, n = 1, k = 1, batches = 1, grid = 1;
  TileGroups groups = {};
  std::vector<std::int32_t> of_groups = {0};
};

struct Work {
  std::uint32_t row = kNoTile, column = kNoTile, rows = kNoTile, batch = kNoTile, begin = kNoTile,
                end = kNoTile;
  friend bool operator==(const Work&, const Work&) = default;
};
/// [thread block][what it computes, in order]
using Works = std::vector<std::vector<Work>>;

std::uint32_t cluster_of(const TileCase& c) {
  return static_cast<std::uint32_t>(c.schedule.split * c.schedule.sharing());
}

using Note = std::function<void(const TilePortion&)>;
using Emit = std::function<void(KernelBuilder&, kit::TileScheduler&, const Note&)>;

/// `emit` calls its last argument for what the thread block computes.
Works tiles_computed(const TileCase& c, const Emit& emit) {
  constexpr int kFields = sizeof(Work) / sizeof(std::uint32_t);
  kit::Params params;
  params.size("m", u32, c.m).size("n", u32, c.n).size("k", u32, c.k).size("batches", u32, c.batches);
  params.pointer("groups", s32).pointer("out", u32);
  KernelBuilder k = kit_test::builder();
  k.require_block(32);
  if (cluster_of(c) > 1) k.require_cluster(cluster_of(c));
  const kit::ParamRegs in = params.declare(k);
  // guide tile_scheduler {
  kit::TileProblem problem{.m = in["m"], .n = in["n"], .k = in["k"], .groups = c.groups};
  if (c.batches > 1) problem.batches = in["batches"];
  problem.groups.address = in["groups"];
  kit::TileScheduler tiles(k, c.schedule, problem);
  // }
  const Reg leads = k.eq(k.special("tid.x"), 0), count = k.mov(u32, 0);
  emit(k, tiles, [&](const TilePortion& portion) {
    const auto& [tile, depth, stream] = portion;
    const Reg at = k.mul(k.fma(k.special("ctaid.x"), kMostTiles, count), kFields);
    const Arg fields[] = {tile.row,    tile.column, tile.rows, tile.batch ? Arg(*tile.batch) : Arg(0),
                          depth.begin, depth.end};
    for (int i = 0; i < kFields; ++i)
      k.guarded(leads,
                [&] { k.emit("st.global.u32", k.at(k.mad_wide(at, 4, in["out"]), 4 * i), fields[i]); });
    k.emit("add.u32", count, count, 1);
  });
  std::vector<Work> out(std::size_t{kMostTiles} * c.grid);
  std::vector<std::int32_t> groups = c.of_groups;
  kit_test::run(k.finish(), {.grid = {c.grid, 1, 1}, .block = {32, 1, 1}}, params.arguments(),
                {kit_test::tensor("groups", groups), kit_test::tensor("out", out)});
  Works works;
  for (std::uint32_t block = 0; block < c.grid; ++block) {
    const auto first = out.begin() + block * kMostTiles;
    const auto last = std::find(first, first + kMostTiles, Work{});
    CHECK(std::all_of(last, first + kMostTiles, [](const Work& work) { return work == Work{}; }));
    works.emplace_back(first, last);
  }
  return works;
}

Works of_persistent_grid(const TileCase& c) {
  return tiles_computed(
      c, [](KernelBuilder&, kit::TileScheduler& tiles, const Note& note) { tiles.for_each(note); });
}
Works of_plain_grid(const TileCase& c) {
  return tiles_computed(c, [](KernelBuilder&, kit::TileScheduler& tiles, const Note& note) {
    const kit::TileOrigin tile = tiles.own();
    note({tile, tiles.part(), {}});
  });
}

std::uint32_t rounded_up(std::uint32_t x, std::uint32_t by) { return (x + by - 1) / by; }

/// The tiles, or pairs, in the order of their numbers, with their part of k left open.
std::vector<Work> numbered(const TileCase& c) {
  const auto tile_m = static_cast<std::uint32_t>(c.schedule.pair_m()),
             tile_n = static_cast<std::uint32_t>(c.schedule.pair_n()),
             raster = static_cast<std::uint32_t>(c.schedule.raster);
  const std::uint32_t down = rounded_up(c.m, tile_m), across = rounded_up(c.n, tile_n);
  const bool runs = c.groups.kind == TileGroups::Kind::contiguous;
  std::vector<Work> tiles;
  for (std::uint32_t batch = 0; batch < (runs ? 1 : c.batches); ++batch)
    for (std::uint32_t band = 0; band < down; band += raster)
      for (std::uint32_t column = 0; column < across; ++column)
        for (std::uint32_t row = band; row < std::min(down, band + raster); ++row)
          tiles.push_back({row * tile_m, column * tile_n, c.groups.columns ? c.n : c.m, batch, 0, c.k});
  return tiles;
}

/// The tile of a thread block of a pair.
Work in_pair(const TileCase& c, Work work, std::uint32_t block) {
  const std::uint32_t rank = block % 2;
  if (c.schedule.pair == TilePair::below) work.row += rank * static_cast<std::uint32_t>(c.schedule.tile_m);
  if (c.schedule.pair == TilePair::beside)
    work.column += rank * static_cast<std::uint32_t>(c.schedule.tile_n);
  return work;
}

/// The work of a persistent grid, without groups and split.
Works expected(const TileCase& c) {
  const std::vector<Work> tiles = numbered(c);
  const std::uint32_t cluster = cluster_of(c);
  Works works(c.grid);
  for (std::uint32_t block = 0; block < c.grid; ++block)
    for (std::size_t i = block / cluster; i < tiles.size(); i += c.grid / cluster)
      works[block].push_back(in_pair(c, tiles[i], block));
  return works;
}

TileSchedule schedule(int tile_m, int tile_n, int tile_k, int raster) {
  return {.tile_m = tile_m, .tile_n = tile_n, .tile_k = tile_k, .raster = raster};
}

std::string refusal(const TileSchedule& schedule, kit::TileProblem problem) {
  KernelBuilder k = kit_test::builder();
  problem.m = problem.n = problem.k = k.mov(u32, 1);
  try {
    kit::TileScheduler(k, schedule, problem);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("tiles are numbered in bands, column by column") {
  // The picture in the header.
  const TileCase c{.schedule = schedule(16, 8, 4, 2), .m = 48, .n = 32, .k = 9, .grid = 12};
  std::vector<Work> order;
  for (const auto& work : of_plain_grid(c)) {
    REQUIRE(work.size() == 1);
    order.push_back(work[0]);
  }
  const auto place = [&](std::size_t i) { return std::pair(order[i].row / 16, order[i].column / 8); };
  using Place = std::pair<std::uint32_t, std::uint32_t>;
  CHECK(place(0) == Place{0, 0});
  CHECK(place(1) == Place{1, 0});
  CHECK(place(2) == Place{0, 1});
  CHECK(place(7) == Place{1, 3});
  CHECK(place(8) == Place{2, 0});
  CHECK(place(11) == Place{2, 3});
  CHECK(order == numbered(c));
}

TEST_CASE("a persistent grid computes each tile once, at odd sizes and in batches") {
  for (const bool known : {false, true})
    for (TileCase c :
         {TileCase{.schedule = schedule(16, 8, 4, 3), .m = 113, .n = 41, .k = 9, .grid = 5},
          TileCase{.schedule = schedule(64, 96, 16, 8), .m = 1, .n = 1000, .k = 40, .grid = 3},
          TileCase{.schedule = schedule(32, 16, 8, 1), .m = 65, .n = 33, .k = 8, .batches = 3, .grid = 4},
          TileCase{.schedule = schedule(8, 8, 8, 2), .m = 16, .n = 17, .k = 1, .batches = 2, .grid = 30}}) {
      if (known) c.schedule.known = {.m = c.m, .n = c.n};
      CHECK(of_persistent_grid(c) == expected(c));
    }
}

TEST_CASE("the thread blocks of a pair have adjacent tiles") {
  for (const TilePair pair : {TilePair::below, TilePair::beside}) {
    TileCase c{.schedule = schedule(16, 24, 4, 2), .m = 100, .n = 130, .k = 7, .batches = 2, .grid = 6};
    c.schedule.pair = pair;
    CHECK(of_persistent_grid(c) == expected(c));
    c.grid = 2 * static_cast<std::uint32_t>(numbered(c).size());
    CHECK(of_plain_grid(c) == expected(c));
  }
}

TEST_CASE("a split divides k into whole k-blocks") {
  TileCase c{.schedule = schedule(16, 8, 16, 8), .m = 20, .n = 30, .k = 100};
  c.schedule.split = 3;
  const std::vector<Work> tiles = numbered(c);
  c.grid = static_cast<std::uint32_t>(3 * tiles.size());
  // 7 k-blocks: 2, 2 and 3, the last of which is partial.
  const std::pair<std::uint32_t, std::uint32_t> parts[] = {{0, 32}, {32, 64}, {64, 100}};
  for (const Works& works : {of_plain_grid(c), of_persistent_grid(c)})
    for (std::uint32_t block = 0; block < c.grid; ++block) {
      Work work = tiles[block / 3];
      std::tie(work.begin, work.end) = parts[block % 3];
      CHECK(works[block] == std::vector<Work>{work});
    }
}

TEST_CASE("consumers that take turns have every other tile") {
  TileCase c{.schedule = schedule(16, 8, 4, 3), .m = 90, .n = 41, .k = 9, .grid = 4};
  c.schedule.in_flight = 2;
  const std::vector<Work> tiles = numbered(c);
  for (std::uint32_t consumer = 0; consumer < 2; ++consumer) {
    const Works works =
        tiles_computed(c, [&](KernelBuilder& k, kit::TileScheduler& scheduler, const Note& note) {
          scheduler.for_each(note, k.mov(u32, consumer));
        });
    for (std::uint32_t block = 0; block < c.grid; ++block) {
      std::vector<Work> own;
      for (std::size_t i = consumer * c.grid + block; i < tiles.size(); i += 2 * c.grid)
        own.push_back(tiles[i]);
      CHECK(works[block] == own);
    }
  }
}

TEST_CASE("tiles after the rows of their group are skipped") {
  for (const bool columns : {false, true}) {
    TileCase c{.schedule = schedule(16, 8, 4, 2), .m = 70, .n = 50, .k = 9, .batches = 4, .grid = 7};
    c.groups = {.kind = TileGroups::Kind::masked, .columns = columns};
    c.of_groups = {17, 0, 1000, -5};  // no row more than the matrix has, none below 0
    const auto all = static_cast<std::int32_t>(columns ? c.n : c.m);
    Works works = expected(c);
    for (auto& work : works) {
      std::erase_if(work, [&](const Work& tile) {
        return static_cast<std::int32_t>(columns ? tile.column : tile.row) >= c.of_groups[tile.batch];
      });
      for (Work& tile : work) tile.rows = static_cast<std::uint32_t>(std::min(all, c.of_groups[tile.batch]));
    }
    CHECK(of_persistent_grid(c) == works);
    c.grid = static_cast<std::uint32_t>(numbered(c).size());
    std::size_t skipped = 0;
    for (const auto& work : of_plain_grid(c)) skipped += work.empty() ? 1 : 0;
    CHECK(skipped == (columns ? 4 * 35 - 15 - 35 : 4 * 35 - 14 - 35));
  }
}

TEST_CASE("runs of rows name their batch, or none") {
  TileCase c{.schedule = schedule(16, 8, 4, 2), .m = 150, .n = 20, .k = 9, .batches = 3, .grid = 4};
  c.schedule.pair = TilePair::below;
  c.groups = {.kind = TileGroups::Kind::contiguous, .run = 64};
  c.of_groups = {2, -1, 1};
  Works works = expected(c);
  for (auto& work : works) {
    std::erase_if(work, [&](const Work& tile) { return tile.row / 64 == 1; });
    for (Work& tile : work) tile.batch = static_cast<std::uint32_t>(c.of_groups[tile.row / 64]);
  }
  CHECK(of_persistent_grid(c) == works);
  c.of_groups = {3, 0, 0};  // there is no batch 3
  CHECK(of_persistent_grid(c)[0].front().row == 64);
}

TEST_CASE("schedules whose parts do not go together are refused") {
  KernelBuilder k = kit_test::builder();
  const Reg any = k.mov(u32, 1);
  TileSchedule s = schedule(16, 8, 4, 2);
  CHECK_THAT(refusal(schedule(16, 0, 4, 2), {}), ContainsSubstring("set tile_m, tile_n and tile_k"));
  s.split = 2;
  CHECK_THAT(refusal(s, {.division = any}), ContainsSubstring("a split of k beside a pair or stream-K"));
  s.pair = TilePair::beside;
  CHECK_THAT(refusal(s, {}), ContainsSubstring("leave split at 1"));
  s.split = 1;
  CHECK_THAT(refusal(s, {.groups = {.kind = TileGroups::Kind::masked}, .division = any}),
             ContainsSubstring("groups and stream-K"));
  const TileGroups runs{.kind = TileGroups::Kind::contiguous, .run = 24};
  CHECK_THAT(refusal(s, {.groups = runs}), ContainsSubstring("set TileProblem::batches"));
  CHECK_THAT(refusal(s, {.batches = any, .groups = runs}), ContainsSubstring("16 rows in runs of 24"));
}
