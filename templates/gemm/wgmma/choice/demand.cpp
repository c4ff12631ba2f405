// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gemm/choice/demand.hpp"
#include "gemm/reduction/cluster_reduction.hpp"
#include "gemm/reduction/stream_k_reduction.hpp"
#include "gemm/wgmma/choice/choice.hpp"
#include "gemm/wgmma/plan.hpp"

namespace ptxloom::gemm_kernel::wgmma {
namespace {

// Fitted, like the constants of the cost model (specs/README.md):
constexpr double kLeastWidth = 31;    // a narrower wgmma takes as long: it reads 64 rows of A
constexpr double kStoredBytes = 700;  // per clock, of D by TMA stores
constexpr double kBoxClocks = 286;    // of each TMA store of a warpgroup

/// The operations of all k-blocks. A narrow instruction counts as many as a wider one that takes as long.
double operations_of(const Problem& p, const Config& c, const Plan& plan) {
  const double wgmmas = 2.0 * c.tile_m * c.tile_k * c.warps_n * std::max<double>(kLeastWidth, warpgroup_n(c));
  // With two warpgroups, one multiplies while the other promotes its accumulators.
  const double promotion = plan.promotes ? 1.0 / (c.k_steps() * warpgroups(c)) : 0;
  return wgmmas * (1 + promotion) * stream_k_blocks(p, c);
}

}  // namespace

void add_demand(const Target& target, const Problem& p, const Config& c, tune::Demand& d) {
  const Plan plan(target.info(), p, c);
  // The rules have seen that they suffice, even where the rough need is more.
  d.registers = std::min(plan.needed_registers, target.info().registers_with(1, c.threads()));
  d.shared_bytes = static_cast<std::uint64_t>(plan.shared_bytes);
  d.most_per_sm = plan.blocks_per_sm;
  d.persistent = true;
  d.asynchronous = true;
  d.operations = operations_of(p, c, plan);
  d.shared_traffic = stage_bytes_of(p, c) * stream_k_blocks(p, c);
  d.loads = tune::Loads::bulk;
  d.in_flight = c.stages;
  if (c.staged && plan.tma_stores_d) {
    const double bytes = double(p.m) * p.n * p.results() * p.d.type.bytes();
    const double tile_bytes = bytes / tiles_of(p, c);
    d.epilogue =
        tile_bytes / kStoredBytes + tile_bytes / plan.store.bytes() / tile_warpgroups(c) * kBoxClocks;
    d.stored_sectors = bytes / 32;
  } else {
    add_stores(d, p, c, c.staged ? Stores::row_by_row : Stores::from_registers);
  }
  if (c.split > 1) d.summed_bytes = cluster_reduction_bytes(p, c) * (c.split - 1.0) / c.split;
  if (plan.pack.any()) {
    ++d.grid_waits;
    d.prologue_bytes = 2.0 * static_cast<double>(plan.pack.workspace_bytes());
  }
}

}  // namespace ptxloom::gemm_kernel::wgmma
