// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/launch.hpp"

#include <algorithm>

#include "gemm/launch/launch.hpp"

namespace ptxloom::gemm_kernel::wgmma {
namespace {

void add_operand(LaunchArgumentList& add, const kit::TmaTile& tile, const std::string& name,
                 const kit::PackedMatrix& packed) {
  const TensorMap map = tile.map(add.problem.batch);
  if (!packed.packed) return add.map(name, map);
  add.pointer(name);
  add.map_at("packed_" + name, map, packed.at);
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

std::vector<std::string_view> pointers(const Problem& p, const Config& c, const Plan& plan) {
  std::vector<std::string_view> names;
  if (p.reads_c()) names.emplace_back("c");
  if (stores_by_pointer(c, plan)) names.emplace_back("d");
  return names;
}

LaunchPlan launch_plan(const Problem& p, const Problem& seen, const Config& c, const Plan& plan) {
  LaunchPlan launch = tile_grid(seen, c);
  launch.entry = kernel_name(p, c);
  if (c.split == 1) launch.blocks_per_sm = static_cast<std::uint32_t>(plan.blocks_per_sm);
  if (plan.stream) launch.grid[0] = plan.stream->blocks;
  launch.cooperative = plan.stream || plan.pack.any();
  launch.shared_bytes = static_cast<std::uint32_t>(plan.shared_bytes);
  if (!plan.stream) launch.grid[0] = std::max(launch.grid[0], packing_blocks(plan.pack, c));
  LaunchArgumentList add{p, launch.arguments};
  add.size("m", p.m), add.size("n", p.n), add.size("k", p.k);
  const auto [a, b] = c.places(&plan.a, &plan.b);
  const auto [packed_a, packed_b] = c.places(&plan.pack.a(), &plan.pack.b());
  add_operand(add, *a, p.a.name, *packed_a);
  add_operand(add, *b, p.b.name, *packed_b);
  launch.workspace_bytes = plan.workspace_bytes();
  if (launch.workspace_bytes > 0) add.pointer(kWorkspace);
  if (p.reads_c()) add.pointer("c");
  if (stores_by_tma(c, plan))
    add.map(map_of_d(c), "d", plan.store.map(p.d.type, p.n, p.m, p.d.ld, p.d.stride, p.batch));
  if (stores_by_pointer(c, plan)) add.pointer("d");
  if (p.reads_c()) add.size("ldc", p.c.ld);
  if (stores_by_pointer(c, plan)) add.size("ldd", p.d.ld);
  add_term_arguments(add, p, plan.scales.maps());
  add_batch_arguments(add, pointers(p, c, plan));
  return launch;
}

}  // namespace ptxloom::gemm_kernel::wgmma
