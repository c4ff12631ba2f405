// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/choice/choice.hpp"

#include <algorithm>
#include <cmath>

#include "gemm/choice/walk.hpp"
#include "gemm/config/parameters.hpp"
#include "gemm/config/rules.hpp"
#include "gemm/reduction/cluster_reduction.hpp"
#include "gemm/wgmma/plan.hpp"

namespace ptxloom::gemm_kernel::wgmma {
namespace {

// SMs that clusters of more than two thread blocks can use: their size does not divide a GPC's SM count.
constexpr double kClusterSms = 96;
constexpr int kRowBytes = 128;            // of a tile of A: the longest swizzled row
constexpr double kCopiedBytes = 56;       // per clock and SM from L2, when all SMs load
constexpr double kAcrossLines = 1.4;      // factor on the bytes of a row that straddles lines
constexpr double kMemoryBytes = 18;       // per clock and SM from memory, when all SMs load
constexpr double kAgainBytes = 100;       // per clock and SM, that L2 delivers again,
constexpr double kHotBytes = 8 << 20;     // for an operand larger than this
constexpr double kOwnLoads = 1.1;         // factor when a consumer warp issues the loads
constexpr double kTakenBytes = 64;        // per clock into an SM: its own loads and the other thread block's
constexpr double kTileClocks = 1000;      // before a tile's first product and after its last
constexpr double kWarpgroupClocks = 400;  // for a second warpgroup that computes the same tile
constexpr double kStepClocks = 10;        // fixed cost of a stage
constexpr double kStoredBytes = 64;       // per clock, of D by TMA stores
constexpr double kBoxClocks = 100;        // fixed cost of each TMA store
constexpr double kDirectBytes = 16;       // per clock, of D from registers
constexpr double kUnitClocks = 2;         // for a warp's load and store, when threads copy D
constexpr double kPackClocks = 3000;      // before the first piece and after the last
constexpr double kPackedBytes = 12;       // per clock and SM, read and written
constexpr int kLeastClocks = 16;          // that a wgmma takes to read A
constexpr double kPairClocks = 1500;      // for two thread blocks that share tiles: pays with a deep k
constexpr double kReleaseClocks = 4;      // per consumer that also releases a stage in another thread block
constexpr int kHiddenReaders = 2;         // for which such releases cost nothing
constexpr double kSplitClocks = 10000;  // of a split: so high that it is chosen only where it won on an H200
constexpr double kSummedBytes = 32;     // per clock, of other thread blocks' accumulators
constexpr double kShareClocks = 2000;   // for thread blocks that share tiles to wait for each other
constexpr double kSharedBytes = 20;     // per clock, of accumulators in the workspace

// The most bytes of a row of D that a lane stores in one access.
int result_unit(const Problem& p, const Config& c) {
  return c.swap ? p.d.type.bytes() : alignment(p.d, p.n, true);
}

double stored_clocks(const Plan& plan, int groups, int unit, double bytes) {
  if (plan.tma_stores_d) return bytes / kStoredBytes + bytes / plan.store.bytes() / groups * kBoxClocks;
  return bytes / (32 * unit) * 2 * kUnitClocks;
}

// Limited by what the rows allow in one access, and by the pairs that registers hold.
double direct_clocks(int unit, double bytes) { return bytes / std::min(kDirectBytes, 2.0 * unit); }

/// Clocks before a tile's first product and after its last.
double tile_clocks(const Problem& p, const Config& c, const Plan& plan) {
  const double bytes = double(c.tile_m) * c.tile_n * p.d.type.bytes();
  const int unit = result_unit(p, c), groups = tile_warpgroups(c);
  const double result = c.staged ? stored_clocks(plan, groups, unit, bytes) : direct_clocks(unit, bytes);
  return kTileClocks + result / (groups == 2 ? 1.5 : 1) + (groups - 1) * kWarpgroupClocks;
}

double packing_clocks(const PackPlan& pack, double sms) {
  return pack.any() ? kPackClocks + 2.0 * static_cast<double>(pack.workspace_bytes()) / sms / kPackedBytes
                    : 0;
}

/// A thread block has a part of one or two shared tiles, writes it, and reads as much back; more if a tile
/// has more parts than units to deal out.
double shared_clocks(const Problem& p, const Config& c, const Plan& plan, double parts) {
  const double shared = parts > 1 ? 1 : 2;
  const double rows = std::min(1.0, std::ceil(p.m / 16.0) * 16 / c.tile_m);
  const double left = rows * plan.stream->workspace.slot_bytes;
  const double read = left * std::max(1.0, parts / stream_units(p, c).count);
  return shared * (kShareClocks + (left + read) / kSharedBytes);
}

/// Two things that run concurrently, with imperfect overlap.
double beside(double clocks, double others) {
  return std::max(clocks, others) + std::min(clocks, others) / 8;
}

/// The fraction of the tiles outside the matrix. It is zero-filled, which is no faster than loading.
double rows_outside(std::uint32_t extent, int tile) {
  const double tiles = std::ceil(double(extent) / tile);
  return 1 - extent / (tiles * tile);
}

/// Bytes of a stage loaded from L2; more if rows are not aligned to half a line.
double brought_bytes(const kit::TmaTile& tile, const kit::MatrixOperand& matrix) {
  const bool across = matrix.ld * static_cast<std::uint64_t>(matrix.type.bytes()) % (kRowBytes / 2) != 0;
  return double(tile.bytes()) / tile.sharing() * (across ? kAcrossLines : 1);
}

/// Bytes loaded from L2 again, for an operand of `bytes`, over the stages of all tiles.
double read_again(const kit::TmaTile& tile, double bytes, double stages) {
  return bytes <= kHotBytes ? 0 : std::max(0.0, stages * tile.bytes() / tile.sharing() - bytes);
}

/// Clocks from one stage to the next if every load has arrived in time.
double stage_clocks(const Problem& p, const Config& c, const Plan& plan) {
  const double products =
      c.k_steps() * (c.tile_m / kWgmmaRows) * c.warps_n * std::max(kLeastClocks, warpgroup_n(c) / 2);
  // With two warpgroups, one multiplies while the other promotes its accumulators.
  const double promotion =
      plan.promotes ? warpgroup_m(c) * warpgroup_n(c) / kWarpgroupThreads / warpgroups(c) : 0;
  const double brought =
      brought_bytes(plan.a, plan.pack.a().matrix) + brought_bytes(plan.b, plan.pack.b().matrix);
  const double outside =
      rows_outside(p.m, c.tile_m) * plan.a.bytes() + rows_outside(p.n, c.tile_n) * plan.b.bytes();
  const double taken = plan.a.bytes() + plan.b.bytes();
  const double copies = std::max(brought / kCopiedBytes, taken / kTakenBytes) + outside / kTakenBytes;
  const double releases = c.sharing() > 1 ? kReleaseClocks * std::max(0, plan.readers - kHiddenReaders) : 0;
  return (std::max(products + promotion, copies) + releases) * (c.wgmma.producer_warp() ? 1 : kOwnLoads);
}

/// The fraction of memory latency that the stages hide.
double hidden_part(const Config& c, const Plan& plan) {
  return 1 - 0.1 / (plan.stage_bytes * (c.stages - 1) / 65536.0 + 1);
}

/// Clocks of each thread block, overlapped with the time that memory and L2 need for all of them.
double beside_memory(const Problem& p, const Config& c, const Plan& plan, double sms, double clocks) {
  const double once = input_bytes(p) / sms / kMemoryBytes / hidden_part(c, plan);
  const double stages = stream_k_blocks(p, c);
  const double again =
      read_again(plan.a, bytes_of(p, p.a), stages) + read_again(plan.b, bytes_of(p, p.b), stages);
  return std::max(beside(clocks, once), once + again / sms / kAgainBytes);
}

double estimate(const Target& target, const Problem& p, const Config& c) {
  const Plan plan(target.info(), p, c);
  const double chip_sms = target.info().sms;
  const double stages = std::ceil(std::ceil(double(p.k) / c.tile_k) / c.split);
  const double stage = stage_clocks(p, c, plan) / hidden_part(c, plan);
  const double latency = tile_clocks(p, c, plan);
  const double others =
      stages * kStepClocks + (c.sharing() > 1 ? kPairClocks : 0) + packing_clocks(plan.pack, chip_sms);
  if (c.stream_k) {
    const double whole = std::floor(tiles_of(p, c) / chip_sms);
    const StreamShare share(*plan.stream, p, c, chip_sms);
    return beside_memory(p, c, plan, chip_sms, share.k_blocks * stage) + whole * latency +
           shared_clocks(p, c, plan, share.parts) + others;
  }
  const double blocks = tiles_of(p, c) * c.split, sms = c.split > 2 ? kClusterSms : chip_sms;
  const double resident = std::min<double>(plan.blocks_per_sm, std::max(1.0, blocks / sms));
  const double rounds = std::ceil(blocks / (sms * resident));
  const double tile = stages * stage;
  // With two warpgroups in alternation, one multiplies while the other stores.
  if (c.tiles_in_flight() > 1)
    return beside_memory(p, c, plan, chip_sms,
                         rounds * std::max(tile, (tile + latency) / c.tiles_in_flight())) +
           latency + others;
  const double read = cluster_reduction_bytes(p, c) * (c.split - 1.0) / c.split;
  const double sums = c.split == 1 ? 0 : kSplitClocks + read / kSummedBytes;
  return beside_memory(p, c, plan, chip_sms, rounds * resident * tile) + rounds * (latency + sums) + others;
}

// The most stages that fit, unless given.
void fill_shared_memory(const Target& target, const Problem& p, Config& c, const std::vector<int>& stages) {
  for (const int depth : stages) {
    c.stages = depth;
    if (Plan(target.info(), p, c).shared_bytes <= target.info().shared_per_block) return;
  }
}

// Whether D's small M would fit into a narrower tile.
bool wider_than_small_m(const Config& c, const Problem& p) {
  return c.swap && static_cast<unsigned>(c.tile_n) >= p.n + (c.wgmma.every_width ? 8 : 16);
}

// tile_k is one longest swizzled row or, where memory is the bottleneck, also two.
std::vector<Settings> with_depths(const Problem& p, const Settings& given) {
  if (given.contains("tile_k")) return {given};
  std::vector<Settings> wanted;
  for (const int rows : {1, 2}) {
    if (rows > 1 && std::min(p.m, p.n) > kSmallM) break;
    wanted.push_back(given);
    wanted.back()["tile_k"] = std::to_string(rows * kRowBytes / p.a.type.bytes());
  }
  return wanted;
}

constexpr std::string_view kAxes[] = {"tile_k", "tile_m", "tile_n", "warps_n", "warps_m", "split"};

using ScoredConfigs = std::vector<std::pair<double, Config>>;

// Appends the configurations for the problem as seen by `base`.
void append_configs(const ParameterSpace& space, const Target& target, const Problem& problem,
                    const Settings& given, const Config& base, ScoredConfigs& scored) {
  std::vector<int> stages = integers(space, given, "stages");
  std::sort(stages.rbegin(), stages.rend());
  const bool open_static = !given.contains("static"), open_epilogue = !given.contains("epilogue"),
             open_loads = !given.contains("loads");
  const std::vector<Multicast> multicasts = given.contains("multicast")
                                                ? std::vector{base.wgmma.multicast}
                                                : std::vector{Multicast::none, Multicast::b, Multicast::a};
  const std::vector<Schedule> schedules = given.contains("schedule")
                                              ? std::vector{base.wgmma.schedule}
                                              : std::vector{Schedule::cooperative, Schedule::pingpong};
  const auto consider = [&](Config& c) {
    if (open_static) c.bake = Bake::mnk;
    c.staged = open_epilogue || base.staged;
    c.wgmma.loads = base.wgmma.loads;
    if (open_loads && !leaves_registers(target.info(), problem, c)) c.wgmma.loads = Loads::thread;
    for (int tries = open_epilogue ? 2 : 1; tries > 0; --tries, c.staged = false) {
      fill_shared_memory(target, problem, c, stages);
      if (!inadmissible(target, problem, c).empty()) continue;
      scored.emplace_back(estimate(target, problem, c), c);
      return;
    }
  };
  const auto visit = [&](Config c) {
    if (wider_than_small_m(c, problem) && !given.contains("tile_n")) return;
    for (const Multicast multicast : multicasts)
      for (const Schedule schedule : schedules) {
        c.wgmma.multicast = multicast;
        c.wgmma.schedule = schedule;
        consider(c);
      }
  };
  for (const Settings& wanted : with_depths(problem, given))
    Walk(space, target, problem, wanted, kAxes).run(base, visit);
}

}  // namespace

std::vector<Config> admissible_configs(const ParameterSpace& space, const Target& target,
                                       const Problem& problem, const Settings& given, const Config& base) {
  std::vector<Config> bases{base};
  const auto offer_too = [&](bool Config::* field) {
    for (std::size_t i = 0, known = bases.size(); i < known; ++i) {
      bases.push_back(bases[i]);
      bases.back().*field = true;
    }
  };
  if (!given.contains("swap") && problem.m <= kSmallM) offer_too(&Config::swap);
  if (offers_stream_k(problem, given)) offer_too(&Config::stream_k);
  ScoredConfigs scored;
  for (const Config& one : bases) append_configs(space, target, seen_by(one, problem), given, one, scored);
  std::stable_sort(scored.begin(), scored.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<Config> configs;
  for (auto& [time, config] : scored) configs.push_back(std::move(config));
  return configs;
}

}  // namespace ptxloom::gemm_kernel::wgmma
