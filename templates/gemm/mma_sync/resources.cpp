// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gemm/mma_sync/choice.hpp"
#include "gemm/reduction/cluster_reduction.hpp"
#include "gemm/reduction/stream_k_reduction.hpp"

namespace ptxloom::gemm_kernel::mma_sync {
namespace {

constexpr int kTileAlignment = 128;  // bytes
constexpr int kOfAddresses = 40;  // registers per thread, roughly: addresses and temporaries of the epilogue
constexpr int kOfPortions = 16;   // more with stream_k: the bounds of portions
constexpr int kOfSizes = 8;       // more with stream_k if sizes are not baked in

// Registers of a thread that hold a tile between load and store.
int staging_registers(const Matrix& matrix, const kit::CopyAccess& access, int extent, const Config& c) {
  if (access.asynchronous) return 0;
  const int bytes = extent * c.tile_k * matrix.type.bytes() / c.threads();
  return bytes / std::min(access.bytes, 4);
}

}  // namespace

kit::SharedLayout stage_layout(const Problem& p, const Config& c) {
  kit::SharedLayout stage;
  stage.add("a", c.tile_m * c.tile_k * p.a.type.bytes(), kTileAlignment);
  return stage.add("b", c.tile_n * c.tile_k * p.b.type.bytes(), kTileAlignment);
}

kit::SharedLayout shared_layout(const Problem& problem, const Config& config) {
  const int pipeline = config.stages * stage_layout(problem, config).pitch();
  const int result = config.staged ? config.tile_m * config.tile_n * problem.d.type.bytes() : 0;
  const int reduction =
      config.stream_k ? stream_slice_bytes(problem, config) : cluster_reduction_bytes(problem, config);
  kit::SharedLayout shared;
  shared.add("tiles", std::max({pipeline, result, reduction}), kTileAlignment);
  if (config.stream_k) shared.add("division", kit::StreamKDivision::kBytes);
  return shared;
}

int shared_bytes(const Problem& problem, const Config& config) {
  return shared_layout(problem, config).size();
}

int needed_registers(const Problem& p, const Config& c) {
  const int staging = staging_registers(p.a, c.a, c.tile_m, c) + staging_registers(p.b, c.b, c.tile_n, c);
  const int sums = p.terms.by_block() ? 2 : 1;  // of a scale block, and the total
  const int accumulators = sums * c.warp_m() * c.warp_n() * p.accumulator.bytes() / 128;
  const int fragments = (c.warp_m() * p.a.type.bytes() + c.warp_n() * p.b.type.bytes()) * c.mma_k / 128;
  const int portions = c.stream_k ? kOfPortions + (c.bake == Bake::mnk ? 0 : kOfSizes) : 0;
  return accumulators + 2 * fragments + staging + kOfAddresses + portions;
}

}  // namespace ptxloom::gemm_kernel::mma_sync
