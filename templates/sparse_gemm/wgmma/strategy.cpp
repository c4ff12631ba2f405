// SPDX-License-Identifier: Apache-2.0
#include "sparse_gemm/strategy.hpp"

#include <algorithm>

#include "sparse_gemm/wgmma/kernel.hpp"
#include "sparse_gemm/wgmma/plan.hpp"

namespace ptxloom::sparse_gemm::wgmma {
namespace {

constexpr int kLeastColumns = 8;  // of an instruction of any type

constexpr double kTouchClocks = 0.9;  // of a store that touches one sector, as of gemm
constexpr double kNeighbours = 8;     // elements of D that a warp stores side by side
// Times the operations where an SM has a single warpgroup: nothing hides its loads of metadata. Measured on
// an H200, f16, 8192^3, 192 x 128.
constexpr double kAlone = 1.16;

std::vector<Rule> rules() {
  return {
      {"strategy wgmma has warps_m=1, and warps_n=4 or 8: one or two warpgroups side by side",
       {"warps_m", "warps_n"},
       [](const Target&, const Problem&, const Config& c) { return c.warps_m == 1 && c.warps_n >= 4; }},
      {"a warpgroup has 64 or 128 columns of the tile",
       {"tile_n", "warps_n"},
       [](const Target&, const Problem&, const Config& c) {
         const int least = kRows * warpgroups(c);
         return c.warps_n >= 4 && (c.tile_n == least || c.tile_n == 2 * least);
       }},
      unit_rule(),
      {"tile_k must be a multiple of 128 with strategy wgmma (64 for tf32, 256 for 8 bits)",
       {"tile_k"},
       [](const Target&, const Problem& p, const Config& c) { return c.tile_k % (2 * chunk_depth(p)) == 0; }},
      {"tile_k must divide k rounded up to a multiple of 128 (256 for 8 bits)",
       {"tile_k"},
       [](const Target&, const Problem& p, const Config& c) {
         return p.layout().stored() * 2 % static_cast<std::uint64_t>(c.tile_k) == 0;
       }},
      {"the accumulators need more registers than a thread has",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n"},
       [](const Target& target, const Problem& p, const Config& c) {
         return Plan(target.info(), p, c).registers <= target.info().registers_with(1, threads(c));
       }},
      {"the stages must fit into shared memory",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n", "stages"},
       [](const Target& target, const Problem& p, const Config& c) {
         return Plan(target.info(), p, c).shared_bytes <= target.info().shared_per_block;
       }},
      grid_rule()};
}

tune::Demand demand_of(const Target& target, const Problem& p, const Config& c) {
  const Plan plan(target.info(), p, c);
  const std::uint64_t depth_blocks =
      (p.k + static_cast<std::uint64_t>(c.tile_k) - 1) / static_cast<std::uint64_t>(c.tile_k);
  const double k_blocks = double(c.grid(p)) * double(depth_blocks), stage = plan.stage_bytes;
  const double sectors = double(c.tile_m) * c.tile_n / kNeighbours;
  const bool single = warpgroups(c) * plan.blocks_per_sm == 1;
  const double alone = single && p.type.bits == 16 ? kAlone : 1;
  // The tensor cores multiply the stored elements alone. Each instruction reads all of A's tile.
  return {.threads = threads(c),
          .registers = plan.registers,
          .shared_bytes = static_cast<std::uint64_t>(plan.shared_bytes),
          .blocks = c.grid(p),
          .most_per_sm = plan.blocks_per_sm,
          .persistent = true,
          .unit = unit_of(p),
          .operations = alone * c.tile_m * c.tile_n * c.tile_k * k_blocks,
          .asynchronous = true,
          .dram_bytes = input_bytes(p) + output_bytes(p),
          .l2_bytes = k_blocks * stage,
          .shared_traffic =
              alone * k_blocks * (2 * stage + (double(c.tile_n) / kRows - 1) * plan.activations.bytes()),
          .steps = depth_blocks,
          .in_flight = c.stages - 1,
          .loads = tune::Loads::bulk,
          .epilogue = kTouchClocks * sectors,
          .stored_sectors = sectors * double(c.grid(p))};
}

std::optional<Variant> find_least(const Specs& specs, const Target& target, const Problem& p) {
  return find_mma(specs, target, p, kLeastColumns);
}

}  // namespace

const Strategy& strategy() {
  static const Strategy instance{
      .kernels = {.name = "wgmma", .rules = rules(), .demand = demand_of, .emit = emit_kernel},
      .find = find_least};
  return instance;
}

}  // namespace ptxloom::sparse_gemm::wgmma
