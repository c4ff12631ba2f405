// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/launch.hpp"

#include <algorithm>

#include "gemm/launch/launch.hpp"

namespace ptxloom::gemm_kernel::wgmma {
namespace {

// A matrix that is packed first is read by its address, and loaded from the workspace.
void add_operand(kit::Params& params, const Problem& p, const Matrix& matrix, const kit::TmaTile& tile,
                 const kit::PackedMatrix& packed) {
  const TensorMap map = tile.map(p.batch);
  if (!packed.packed)
    params.map(matrix.name, matrix.name, map);
  else
    params.pointer(matrix.name, matrix.type).map_in_workspace("packed_" + matrix.name, map, packed.at);
}

/// Whole clusters with enough warps for one piece each.
std::uint32_t packing_blocks(const PackPlan& pack, const Config& c) {
  const auto warps = static_cast<std::uint32_t>(c.threads() / 32 * c.cluster());
  return (pack.pieces() + warps - 1) / warps * static_cast<std::uint32_t>(c.cluster());
}

}  // namespace

bool stores_by_tma(const Config& c, const Plan& plan) { return c.staged && plan.tma_stores_d; }

bool stores_by_pointer(const Config& c, const Plan& plan) { return c.stream_k || !stores_by_tma(c, plan); }

const char* map_of_d(const Config& c) { return c.stream_k ? "copied_d" : "d"; }

kit::Params parameters(const Problem& p, const Config& c, const Plan& plan) {
  const bool baked = c.bake == Bake::mnk, by_pointer = stores_by_pointer(c, plan);
  kit::Params params;
  params.size("m", u32, p.m, baked).size("n", u32, p.n, baked).size("k", u32, p.k, baked);
  const auto [a, b] = c.places(&plan.a, &plan.b);
  const auto [packed_a, packed_b] = c.places(&plan.pack.a(), &plan.pack.b());
  add_operand(params, p, p.a, *a, *packed_a);
  add_operand(params, p, p.b, *b, *packed_b);
  if (plan.workspace_bytes() > 0) params.workspace(b8);
  if (p.reads_c()) params.pointer("c", p.c.type);
  if (stores_by_tma(c, plan))
    params.map(map_of_d(c), "d", plan.store.map(p.d.type, p.n, p.m, p.d.ld, p.d.stride, p.batch));
  if (by_pointer) params.pointer("d", p.d.type);
  if (p.reads_c()) params.size("ldc", u32, p.c.ld, baked);
  if (by_pointer) params.size("ldd", u32, p.d.ld, baked);
  add_term_parameters(params, p, plan.scales.maps());
  std::vector<std::string_view> pointers;
  if (p.reads_c()) pointers.emplace_back("c");
  if (by_pointer) pointers.emplace_back("d");
  add_batch_parameters(params, p, pointers, baked);
  return params;
}

LaunchPlan launch_plan(const Problem& p, const Problem& seen, const Config& c, const Plan& plan) {
  LaunchPlan launch = tile_grid(seen, c);
  launch.entry = kernel_name(p, c);
  if (c.split == 1) launch.blocks_per_sm = static_cast<std::uint32_t>(plan.blocks_per_sm);
  if (plan.stream) launch.grid[0] = plan.stream->blocks;
  launch.cooperative = plan.stream || plan.pack.any();
  launch.shared_bytes = static_cast<std::uint32_t>(plan.shared_bytes);
  if (!plan.stream) launch.grid[0] = std::max(launch.grid[0], packing_blocks(plan.pack, c));
  launch.workspace_bytes = plan.workspace_bytes();
  launch.arguments = parameters(p, c, plan).arguments();
  return launch;
}

}  // namespace ptxloom::gemm_kernel::wgmma
