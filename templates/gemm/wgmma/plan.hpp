// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/launch/batch.hpp"
#include "gemm/reduction/stream_k_reduction.hpp"
#include "gemm/wgmma/scale_tile.hpp"
#include "gemm/wgmma/warpgroups.hpp"
#include "ptxloom/kit/packing.hpp"
#include "ptxloom/kit/shared_layout.hpp"
#include "ptxloom/kit/tma_tile.hpp"

// How strategy wgmma divides a thread block's shared memory: stages of A, B and block scales, two buffers per
// warpgroup for D to be stored, the barriers; and the number of thread blocks per SM that result. Registers
// are not reallocated from the producer to the consumers: nvJitLink compiles code that might be linked with
// more, and ignores setmaxnreg there (ptxas-C7504). Next to a producer warp, two warpgroups have 168
// registers per thread, one has 255. With loads=thread there is no producer warp, and two have 255.
namespace ptxloom::gemm_kernel::wgmma {

inline constexpr int kWgmmaRows = 64;
inline constexpr int kStoreBuffers = 2;  // one being filled while the other is stored

static_assert(kWgmmaRows == kMaskedRows);

/// Registers of a thread for accumulators of D: wgmma's and, if promoted, the f32 ones as well.
int accumulator_registers(const Problem& problem, const Config& config);
inline constexpr int kBesideAccumulators = 32;  // at least; they hold no accumulators

/// Whether a thread has enough registers for its accumulators and all else.
bool leaves_registers(const TargetInfo& chip, const Problem& problem, const Config& config);

/// A and B as TMA loads them: in place, or packed.
class PackPlan : public kit::PackPlan {
 public:
  explicit PackPlan(const Problem& problem);
  const kit::PackedMatrix& a() const { return matrices()[0]; }
  const kit::PackedMatrix& b() const { return matrices()[1]; }
};

/// Follows from the problem and the configuration's tiles, stages and epilogue.
struct Plan {
  Plan(const TargetInfo& chip, const Problem& problem, const Config& config);

  PackPlan pack;
  kit::TmaTile a, b;
  bool a_passes, b_passes;  ///< streamed through L2, which should keep what is read more often
  ScaleTile scales;
  kit::SharedLayout stage;   ///< parts a, b, scales
  int stage_bytes = 0;       ///< from one stage to the next
  kit::TmaBox store;         ///< of D, or of a slice of it; as many rows as one wgmma
  bool tma_stores_d;         ///< TMA stores its boxes; otherwise threads do, row by row
  kit::SharedLayout shared;  ///< parts stages, stores, barriers and, with stream-K, division
  int shared_bytes = 0;

  std::optional<StreamPlan> stream;
  std::uint64_t workspace_bytes() const { return stream ? stream->workspace.bytes : pack.workspace_bytes(); }

  bool promotes;  ///< the accumulators of each stage are added to f32 ones
  int readers;    ///< that release a stage: warpgroups, or their warps if they read its block scales
  int blocks_per_sm = 1;
  int needed_registers = 0;  ///< per consumer thread, roughly
};

}  // namespace ptxloom::gemm_kernel::wgmma
