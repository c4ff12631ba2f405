// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/plan.hpp"

#include <algorithm>
#include <array>

#include "gemm/reduction/cluster_reduction.hpp"
#include "ptxloom/kit/pipeline.hpp"

namespace ptxloom::gemm_kernel::wgmma {
namespace {

constexpr int kTileAlignment = kit::TmaTile::kAlignment;
constexpr int kOtherRegisters = 40;  // addresses and temporaries of the epilogue
constexpr int kOfTerms = 24;         // if the epilogue does more than store
constexpr int kOfLoads = 16;         // for a consumer thread that also issues loads
constexpr int kMostResident = 4;
constexpr double kLargeBytes = 8 << 20;  // of an operand
constexpr double kTimesLarger = 8;
constexpr std::uint32_t kFewTiles = 2;

/// A large operand, next to a small one, that all tiles of a batch read at about the same time and never
/// again, because they form only a few rows or columns of tiles: the weights of a product with small M.
bool passes(const Problem& p, const Matrix& operand, const Matrix& other, std::uint32_t extent, int tile) {
  const double bytes = bytes_of(p, operand);
  const bool of_all = p.batch > 1 && operand.stride == 0;
  return p.groups == GemmGroups::none && !of_all && bytes >= kLargeBytes &&
         bytes >= kTimesLarger * bytes_of(p, other) && extent <= kFewTiles * static_cast<std::uint32_t>(tile);
}

int aligned(int bytes) { return (bytes + kTileAlignment - 1) / kTileAlignment * kTileAlignment; }

kit::TmaBox store_box(const Problem& p, const Config& c) {
  const int row = kit::dividing_row(warpgroup_n(c) / reduction_slices(c) * p.d.type.bytes());
  return {.width = row / p.d.type.bytes(), .row_bytes = row, .rows = kWgmmaRows};
}

kit::SharedLayout stage_layout(const kit::TmaTile& a, const kit::TmaTile& b, const ScaleTile& scales) {
  kit::SharedLayout stage;
  stage.add("a", a.bytes(), kTileAlignment).add("b", b.bytes(), kTileAlignment);
  return stage.add("scales", scales.bytes(), kTileAlignment);
}

kit::SharedLayout shared_layout(const Config& c, int stage_bytes, const kit::TmaBox& store) {
  const int buffers = c.staged ? kStoreBuffers * warpgroups(c) : 0;
  kit::SharedLayout shared;
  shared.add("stages", c.stages * stage_bytes, kTileAlignment);
  shared.add("stores", buffers * aligned(store.bytes()), kTileAlignment);
  shared.add("barriers", kit::Pipeline::bytes(c.stages));
  if (c.stream_k) shared.add("division", kit::StreamKDivision::kBytes);
  return shared;
}

int other_registers(const Problem& p, const Config& c) {
  return kOtherRegisters + (p.terms.none() ? 0 : kOfTerms) + (c.wgmma.producer_warp() ? 0 : kOfLoads);
}

}  // namespace

int accumulator_registers(const Problem& p, const Config& c) {
  return warpgroup_m(c) * warpgroup_n(c) / kWarpgroupThreads * (p.promoted ? 2 : 1);
}

bool leaves_registers(const TargetInfo& chip, const Problem& p, const Config& c) {
  const int others = kBesideAccumulators + (c.wgmma.producer_warp() ? 0 : kOfLoads);
  return accumulator_registers(p, c) + others <= chip.registers_with(1, c.threads());
}

PackPlan::PackPlan(const Problem& p)
    : kit::PackPlan(std::array<kit::MatrixBatches, 2>{{{p.a, p.batch}, {p.b, p.batch}}}) {}

Plan::Plan(const TargetInfo& chip, const Problem& p, const Config& c)
    : pack(p),
      a(pack.a().matrix, c.tile_m, warpgroup_m(c), c.tile_k, c.sharing_a()),
      b(pack.b().matrix, c.tile_n, warpgroup_n(c), c.tile_k, c.sharing_b()),
      a_passes(passes(p, p.a, p.b, p.n, c.tile_n)),
      b_passes(passes(p, p.b, p.a, p.m, c.tile_m)),
      scales(p, c),
      stage(stage_layout(a, b, scales)),
      stage_bytes(stage.pitch()),
      store(store_box(p, c)),
      // A TMA store writes whole units of 16 bytes, even past the end of a row.
      tma_stores_d(alignment(p.d, p.n, true) == 16),
      shared(shared_layout(c, stage_bytes, store)),
      shared_bytes(shared.size()),
      promotes(p.promoted),
      readers(scales.any() ? c.tile_warps() : tile_warpgroups(c)),
      needed_registers(accumulator_registers(p, c) + other_registers(p, c)) {
  if (c.stream_k) stream.emplace(chip, p, c, pack.workspace_bytes());
  const int most = c.stream_k ? 1 : kMostResident;  // they wait for each other
  blocks_per_sm = std::clamp(chip.resident_blocks(c.threads(), needed_registers, shared_bytes), 1, most);
}

}  // namespace ptxloom::gemm_kernel::wgmma
