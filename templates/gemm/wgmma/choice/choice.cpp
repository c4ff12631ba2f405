// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/choice/choice.hpp"

#include <algorithm>

#include "gemm/choice/walk.hpp"
#include "gemm/config/parameters.hpp"
#include "gemm/config/rules.hpp"
#include "gemm/wgmma/plan.hpp"

namespace ptxloom::gemm_kernel::wgmma {
namespace {

constexpr int kRowBytes = 128;      // of a tile of A: the longest swizzled row
constexpr int kLeastRowBytes = 32;  // the shortest

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

// A row of a stage is the longest swizzled one; shorter if k is, and also twice as long where memory is the
// bottleneck.
std::vector<Settings> with_depths(const Problem& p, const Settings& given) {
  if (given.contains("tile_k")) return {given};
  const double bytes = double(p.k) * p.a.type.bytes();
  std::vector<Settings> wanted;
  const auto append = [&](int row) {
    wanted.push_back(given);
    wanted.back()["tile_k"] = std::to_string(row / p.a.type.bytes());
  };
  int row = kRowBytes;
  while (row > kLeastRowBytes && row / 2 >= bytes) row /= 2;
  append(row);
  if (std::min(p.m, p.n) <= kSmallM && bytes > kRowBytes) append(2 * kRowBytes);
  return wanted;
}

constexpr std::string_view kAxes[] = {"tile_k", "tile_m", "tile_n", "warps_n", "warps_m", "split"};

// Appends the configurations for the problem as seen by `base`.
void append_configs(const ParameterSpace& space, const Target& target, const Problem& problem,
                    const Settings& given, const Config& base, std::vector<Config>& configs) {
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
      configs.push_back(c);
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
    walk(space, target, problem, wanted, kAxes, base, visit);
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
  if (!given.contains("swap")) offer_too(&Config::swap);
  if (offers_stream_k(target, problem, given)) offer_too(&Config::stream_k);
  std::vector<Config> configs;
  for (const Config& one : bases) append_configs(space, target, seen_by(one, problem), given, one, configs);
  return configs;
}

}  // namespace ptxloom::gemm_kernel::wgmma
