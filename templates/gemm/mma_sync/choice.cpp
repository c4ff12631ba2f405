// SPDX-License-Identifier: Apache-2.0
#include "gemm/mma_sync/choice.hpp"

#include "gemm/choice/walk.hpp"
#include "gemm/config/parameters.hpp"
#include "gemm/config/rules.hpp"

namespace ptxloom::gemm_kernel::mma_sync {
namespace {

constexpr std::string_view kAxes[] = {"tile_k", "tile_m", "tile_n", "warps_n", "warps_m", "stages"};

}  // namespace

std::vector<Config> admissible_configs(const ParameterSpace& space, const Target& target,
                                       const Problem& problem, const Settings& given, const Config& base) {
  std::vector<Config> configs;
  const std::vector<int> splits = integers(space, given, "split");
  const auto consider = [&](Config c) {
    bool any = false;
    for (const int split : splits) {
      c.split = split;
      if (!inadmissible(target, problem, c).empty()) continue;
      configs.push_back(c);
      any = true;
    }
    return any;
  };
  const bool open_epilogue = !given.contains("epilogue"), open_prefetch = !given.contains("prefetch"),
             open_static = !given.contains("static");
  const auto visit = [&](Config c) {
    // Large warp tiles leave room for few warps, which must hide latency themselves.
    if (open_prefetch) c.mma_sync.across_k_blocks = c.warp_m() * c.warp_n() >= 64 * 32;
    if (open_static) c.bake = Bake::mnk;
    if (open_epilogue) c.staged = problem.d.type.bits == 16;
    if (consider(c) || !c.staged || !open_epilogue) return;
    c.staged = false;
    consider(c);
  };
  walk(space, target, problem, given, kAxes, base, visit);
  if (offers_stream_k(target, problem, given)) {
    Config sharing = base;
    sharing.stream_k = true;
    walk(space, target, problem, given, kAxes, sharing, visit);
  }
  return configs;
}

}  // namespace ptxloom::gemm_kernel::mma_sync
