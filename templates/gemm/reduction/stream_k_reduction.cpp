// SPDX-License-Identifier: Apache-2.0
#include "gemm/reduction/stream_k_reduction.hpp"

#include <algorithm>
#include <cmath>

namespace ptxloom::gemm_kernel {
namespace {

constexpr double kLeastSteps = 4;  // per thread block: fewer are not worth a part of the reduction
constexpr double kTypicalTile = 128, kDeepBytes = 1 << 14;

/// With one thread block per SM, whose register file has four partitions.
int registers_of_thread(const Config& c) { return 512 / ((c.threads() / 32 + 3) / 4); }

std::uint32_t whole_clusters(double blocks, const Config& c) {
  const double clusters = blocks / c.sharing();
  return static_cast<std::uint32_t>(std::max(clusters, 1.0)) * static_cast<std::uint32_t>(c.sharing());
}

}  // namespace

bool may_stream_k(const TargetInfo& chip, const Problem& p) {
  const double tiles = std::ceil(p.m / kTypicalTile) * std::ceil(p.n / kTypicalTile) * p.batch;
  return p.groups == GemmGroups::none && tiles < chip.sms && double(p.k) * p.a.type.bytes() >= kDeepBytes;
}

double stream_k_blocks(const Problem& p, const Config& c) {
  return tiles_of(p, c) * std::ceil(double(p.k) / c.tile_k);
}

kit::StreamKTile stream_tile(const Problem& p, const Config& c) {
  const AccumulatorPart part = c.strategy->part(c);
  return {.mma = c.mma,
          .mma_rows = part.mma_rows,
          .type = p.accumulator,
          .threads = 32 * c.warps(),
          .part_threads = part.threads,
          .part_rows = part.rows,
          .part_columns = c.warp_n(),
          .sharing = c.sharing()};
}

int stream_slice_bytes(const Problem& p, const Config& c) { return stream_units(p, c).slice_bytes(); }

StreamShare::StreamShare(const StreamPlan& plan, const Problem& p, const Config& c, double sms)
    : blocks(std::min<double>(plan.blocks, sms)),
      parts(std::floor(blocks / tiles_of(p, c))),
      k_blocks(std::ceil(stream_k_blocks(p, c) / (parts > 1 ? tiles_of(p, c) * parts : blocks))) {}

StreamPlan::StreamPlan(const TargetInfo& chip, const Problem& p, const Config& c, std::uint64_t at)
    : blocks(whole_clusters(std::min<double>(stream_k_blocks(p, c) / kLeastSteps, chip.sms), c)),
      workspace(stream_units(p, c), tiles_of(p, c), blocks, at),
      reads(kit::StreamKReads::fitting(registers_of_thread(c), blocks / tiles_of(p, c))) {}

}  // namespace ptxloom::gemm_kernel
