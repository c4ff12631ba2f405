// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder.hpp"

/// \file
/// Teams: the threads that work together on one item, such as a row. A team is a part of a warp, a warp, a
/// thread block, or a cluster:
///
///     Team::part_of_warp(8)    lanes 0-7 | 8-15 | 16-23 | 24-31     four teams in each warp
///     Team::warp()             a warp
///     Team::block(256)         a thread block
///     Team::cluster(256, 4)    four thread blocks
///
/// The threads of a team are numbered from 0: by lane, then by warp, then by thread block. Thread blocks and
/// clusters are one-dimensional, along x.
namespace [[gnu::visibility("default")]] ptxloom {
/// The parts that kernels are made of.
namespace kit {

inline constexpr int kWarpThreads = 32;  ///< threads of a warp

/// The shape of a team.
struct Team {
  int lanes = kWarpThreads;  ///< of each warp; fewer than 32 only for a part of one warp
  int warps = 1;             ///< of each thread block
  int blocks = 1;            ///< thread blocks of the cluster

  /// A team of this kind. Throws Error(usage, "bad-team") unless `lanes` is a power of two up to 32,
  /// `threads`, those of a thread block, a multiple of 32 up to 1024, and `blocks` a power of two up to 16.
  ///@{
  static Team part_of_warp(int lanes);
  static Team warp() { return {}; }
  static Team block(int threads);
  static Team cluster(int threads, int blocks);
  ///@}

  int threads() const { return lanes * warps * blocks; }      ///< all of its threads
  bool in_warp() const { return warps == 1 && blocks == 1; }  ///< no barrier is needed
  friend bool operator==(const Team&, const Team&) = default;
};

/// The number of this thread in its team, a u32.
Reg thread_in_team(KernelBuilder& k, const Team& team);
/// The number of this thread's team in the grid, a u32. Thread blocks have `block_threads` threads; those of
/// a team that is larger than a warp are its own.
Reg team_in_grid(KernelBuilder& k, const Team& team, int block_threads);

}  // namespace kit
}  // namespace ptxloom
