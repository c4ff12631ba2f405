// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/wgmma/stream.hpp"

#include <algorithm>
#include <cmath>

#include "ptxloom/kit/mma.hpp"
#include "scaled_gemm/wgmma/mainloop.hpp"
#include "scaled_gemm/wgmma/plan.hpp"

namespace ptxloom::scaled_gemm::wgmma {
namespace {

constexpr double kLeastSteps = 4;  // of a thread block: fewer are not worth a part of the reduction

std::uint32_t blocks_of(const TargetInfo& chip, const Problem& p, const Config& c) {
  const double blocks = std::min<double>(stream_k_blocks(p, c) / kLeastSteps, chip.sms);
  return static_cast<std::uint32_t>(std::max(blocks, 1.0));
}

}  // namespace

kit::StreamKTile stream_tile(const Config& c) {
  return {.mma = {},
          .mma_rows = kRows,
          .type = f32,
          .threads = consumer_threads(c),
          .part_threads = kWarpgroupThreads,
          .part_rows = row_tiles_of_warpgroup(c) * kRows,
          .part_columns = c.tile_m};
}

double stream_tiles(const Problem& p, const Config& c) {
  return double(parts_of(p.m, c.tile_m)) * double(parts_of(p.n, c.tile_n)) * (p.separate() ? p.batch : 1);
}

double stream_k_blocks(const Problem& p, const Config& c) {
  return stream_tiles(p, c) * double(parts_of(p.k, c.tile_k));
}

StreamPlan::StreamPlan(const TargetInfo& chip, const Problem& p, const Config& c)
    : blocks(blocks_of(chip, p, c)),
      workspace(kit::StreamKUnits(stream_tile(c)), stream_tiles(p, c), blocks, 0),
      reads(kit::StreamKReads::fitting(chip.registers_with(1, threads(c)), blocks / stream_tiles(p, c))),
      parts(std::floor(blocks / stream_tiles(p, c))),
      k_blocks(std::ceil(stream_k_blocks(p, c) / (parts > 1 ? stream_tiles(p, c) * parts : blocks))) {}

}  // namespace ptxloom::scaled_gemm::wgmma
