// SPDX-License-Identifier: Apache-2.0
#include "gemm/mma_sync/choice.hpp"

#include <algorithm>
#include <cmath>

#include "gemm/choice/walk.hpp"
#include "gemm/config/parameters.hpp"
#include "gemm/config/rules.hpp"
#include "gemm/reduction/stream_k_reduction.hpp"

namespace ptxloom::gemm_kernel::mma_sync {
namespace {

constexpr int kAssumedSms = 128;  // of every chip; the other factors were found with it
constexpr double kSumDepth = 80;  // adding a tile of another thread block takes as long as this much k
constexpr double kReductionCost =
    16e6;  // cost of a split in multiply-adds: only chosen where it won on an H200

// Time of the problem in arbitrary units: waves of thread blocks, each as fast as its warps keep the tensor
// cores busy.
double estimate(const Target& target, const Problem& p, const Config& c) {
  const TargetInfo& chip = target.info();
  const double blocks = tiles_of(p, c) * c.split;
  const int by_shared = chip.shared_per_sm / (shared_bytes(p, c) + 1024);
  const int by_registers =
      chip.registers_per_sm / (c.threads() * std::min(kRegisterLimit, needed_registers(p, c)));
  const int fitting = std::max(1, std::min({by_shared, by_registers, chip.threads_per_sm / c.threads()}));
  const double resident = c.stream_k ? 1 : std::min<double>(fitting, std::ceil(blocks / kAssumedSms));
  const double waves = std::ceil(blocks / (kAssumedSms * resident));
  const double busy = std::min(1.0, std::pow(resident * c.warps() / 8, 0.6));
  const double intensity = double(c.warp_m()) * c.warp_n() / (c.warp_m() + c.warp_n());
  const double hidden = 1 - 0.1 / (c.stages - 1) - 0.02 / c.k_steps();  // latency, by stages and k-steps
  const double padded_k = std::ceil(std::ceil(double(p.k) / c.tile_k) / c.split) * c.tile_k;
  const double tile = double(c.tile_m) * c.tile_n;
  const double sum = c.split == 1 ? 0 : kReductionCost + (c.split - 1) * tile * kSumDepth;
  const double speed = busy * hidden * intensity / (intensity + 8);
  if (c.stream_k)
    return tile * StreamShare(StreamPlan(p, c, 0), p, c, kAssumedSms).k_blocks * c.tile_k / speed +
           kReductionCost + 2 * tile * kSumDepth;
  return waves * resident * (tile * padded_k / speed + sum);
}

struct Scored {
  double time;
  Config config;
};

constexpr std::string_view kAxes[] = {"tile_k", "tile_m", "tile_n", "warps_n", "warps_m", "stages"};

// Whole tiles everywhere: with baked sizes the main loop checks no bounds.
bool divides(const Problem& p, const Config& c) {
  const auto whole = [](std::uint32_t extent, int tile) {
    return extent % static_cast<std::uint32_t>(tile) == 0;
  };
  return whole(p.m, c.tile_m) && whole(p.n, c.tile_n) && whole(p.k, c.tile_k);
}

}  // namespace

std::vector<Config> admissible_configs(const ParameterSpace& space, const Target& target,
                                       const Problem& problem, const Settings& given, const Config& base) {
  std::vector<Scored> scored;
  const std::vector<int> splits = integers(space, given, "split");
  const auto consider = [&](Config c) {
    bool any = false;
    for (const int split : splits) {
      c.split = split;
      if (!inadmissible(target, problem, c).empty()) continue;
      scored.push_back({estimate(target, problem, c), c});
      any = true;
    }
    return any;
  };
  const bool open_epilogue = !given.contains("epilogue"), open_prefetch = !given.contains("prefetch"),
             open_static = !given.contains("static");
  const Walk walk(space, target, problem, given, kAxes);
  const auto visit = [&](Config c) {
    // Large warp tiles leave room for few warps, which must hide latency themselves.
    if (open_prefetch) c.mma_sync.across_k_blocks = c.warp_m() * c.warp_n() >= 64 * 32;
    if (open_static) c.bake = divides(problem, c) ? Bake::mnk : Bake::none;
    if (open_epilogue) c.staged = problem.d.type.bits == 16;
    if (consider(c) || !c.staged || !open_epilogue) return;
    c.staged = false;
    consider(c);
  };
  walk.run(base, visit);
  if (offers_stream_k(problem, given)) {
    Config sharing = base;
    sharing.stream_k = true;
    walk.run(sharing, visit);
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const Scored& x, const Scored& y) { return x.time < y.time; });
  std::vector<Config> configs;
  for (Scored& one : scored) configs.push_back(std::move(one.config));
  return configs;
}

}  // namespace ptxloom::gemm_kernel::mma_sync
