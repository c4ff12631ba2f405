// SPDX-License-Identifier: Apache-2.0
#include "gemm/schedule/tile_scheduler.hpp"

namespace ptxloom::gemm_kernel {
namespace {

kit::TileSchedule schedule_of(const Problem& p, const Config& c) {
  kit::TileSchedule schedule{.tile_m = c.tile_m,
                             .tile_n = c.tile_n,
                             .tile_k = c.tile_k,
                             .pair = c.cooperation().pair,
                             .split = c.split,
                             .raster = c.raster,
                             .in_flight = c.tiles_in_flight()};
  if (c.bake == Bake::mnk) schedule.known = {.m = p.m, .n = p.n};
  return schedule;
}

kit::TileGroups groups_of(const Config& c, const BatchInputs& batches) {
  kit::TileGroups groups = batches.groups;
  groups.columns = c.swap;
  return groups;
}

}  // namespace

kit::TileScheduler tile_scheduler(KernelBuilder& k, const Problem& p, const Config& c, Reg m, Reg n,
                                  Reg depth, const BatchInputs& batches, std::optional<Reg> division) {
  return {k,
          schedule_of(p, c),
          {.m = m,
           .n = n,
           .k = depth,
           .batches = batches.count,
           .groups = groups_of(c, batches),
           .division = division}};
}

}  // namespace ptxloom::gemm_kernel
