// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch.hpp"
#include "pack.hpp"
#include "scale_tile.hpp"
#include "stream_sums.hpp"
#include "tma_tile.hpp"

// How strategy wgmma deals a block's shared memory out: stages of A, B and scales of blocks, for each
// warpgroup two buffers in which D waits to be stored, the barriers; and how many blocks an SM then holds.
// Registers are not moved from the warp that loads to those that multiply: nvJitLink compiles what might be
// linked with more, and ignores setmaxnreg there (ptxas-C7504). Beside that one warp two warpgroups have 168
// registers a thread, one has 255. With loads=thread there is no such warp, and two have 255.
namespace ptxloom::gemm_kernel {

inline constexpr int kWarpsOfGroup = 4;
inline constexpr int kGroupThreads = 128;
inline constexpr int kWgmmaRows = 64;
inline constexpr std::uint32_t kWgmmaSms = 132;  // of a typical chip that has wgmma
inline constexpr int kStoreBuffers = 2;          // one being filled while the other is stored

static_assert(kWgmmaRows == kMaskedRows);

/// Registers that a thread can have with so many blocks on an SM.
int registers_with(int blocks, const TargetInfo& chip, const Config& config);

/// Registers of a thread for sums of D: those of wgmma, and where they are promoted f32 ones beside.
int sum_registers(const Problem& problem, const Config& config);
inline constexpr int kBesideSums = 32;  // that hold no sums, at least

/// Whether a thread has enough for its sums and all else.
bool leaves_registers(const TargetInfo& chip, const Problem& problem, const Config& config);

/// By the problem and the configuration's tiles, stages and epilogue.
struct WgmmaPlan {
  WgmmaPlan(const TargetInfo& chip, const Problem& problem, const Config& config);

  PackPlan pack;
  OperandTile a, b;
  bool a_passes, b_passes;  ///< through L2, which had better keep what is read more often
  ScaleTile scales;
  int b_at = 0, scales_at = 0;  ///< in a stage
  int stage_bytes = 0;          ///< from one stage to the next
  Box store;                    ///< of D, or of a slice of it; its rows are those of one wgmma
  bool copies_d;                ///< tensor copies store its boxes; else threads do, row by row
  int stores_at = 0, barriers_at = 0, division_at = 0;
  int shared_bytes = 0;

  std::optional<StreamPlan> stream;
  std::uint64_t workspace_bytes() const { return stream ? stream->workspace_bytes : pack.workspace_bytes(); }

  bool promotes;  ///< the sums of each stage, into others
  int readers;    ///< that release a stage: warpgroups, or, where these read scales of it, their warps
  int blocks_per_sm = 1;
  int needed_registers = 0;  ///< of a thread that multiplies, roughly
};

}  // namespace ptxloom::gemm_kernel
