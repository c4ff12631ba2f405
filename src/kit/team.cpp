// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/team.hpp"

#include <fmt/format.h>

#include "kit/integers.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr int kMostThreads = 1024, kMostBlocks = 16;

void require(bool holds, const std::string& what, const char* hint) {
  if (!holds) throw Error(ErrorKind::usage, "bad-team", what, hint);
}

}  // namespace

Team Team::part_of_warp(int lanes) {
  require(power_of_two(lanes) && lanes <= kWarpThreads, fmt::format("a team of {} lanes", lanes),
          "a part of a warp has 1, 2, 4, 8, 16 or 32 lanes");
  return {.lanes = lanes};
}

Team Team::block(int threads) {
  require(threads > 0 && threads % kWarpThreads == 0 && threads <= kMostThreads,
          fmt::format("a team of {} threads", threads),
          "a thread block that is a team has whole warps, and at most 1024 threads");
  return {.warps = threads / kWarpThreads};
}

Team Team::cluster(int threads, int blocks) {
  require(power_of_two(blocks) && blocks <= kMostBlocks, fmt::format("a team of {} thread blocks", blocks),
          "a cluster that is a team has 1, 2, 4, 8 or 16 thread blocks");
  Team team = block(threads);
  team.blocks = blocks;
  return team;
}

Reg thread_in_team(KernelBuilder& k, const Team& team) {
  const Reg thread = k.special("tid.x");
  if (team.in_warp()) return k.and_(thread, team.lanes - 1);
  if (team.blocks == 1) return thread;
  return k.fma(k.special("cluster_ctarank"), kWarpThreads * team.warps, thread);
}

Reg team_in_grid(KernelBuilder& k, const Team& team, int block_threads) {
  const Reg block = k.special("ctaid.x");
  if (!team.in_warp()) return team.blocks == 1 ? block : k.div(block, team.blocks);
  const Reg team_in_block = k.div(k.special("tid.x"), team.lanes);
  return k.fma(block, block_threads / team.lanes, team_in_block);
}

}  // namespace ptxloom::kit
