// SPDX-License-Identifier: Apache-2.0
#include "sparse_gemm/strategy.hpp"

#include "sparse_gemm/mma_sync/kernel.hpp"

namespace ptxloom::sparse_gemm::mma_sync {
namespace {

constexpr int kMostRegisters = 255, kMostTileK = 128;
constexpr double kOfMma = 3.1;  // instructions for an mma, with its share of the loop: as of gemm

std::vector<Rule> rules() {
  return {{"a warp must have whole instructions: multiples of 8 rows of D",
           {"tile_m", "warps_m"},
           [](const Target&, const Problem&, const Config& c) { return c.warp_m() % 8 == 0; }},
          {"a warp must have whole instructions: multiples of 16 columns of D",
           {"tile_n", "warps_n"},
           [](const Target&, const Problem&, const Config& c) { return c.warp_n() % 16 == 0; }},
          unit_rule(),
          {"strategy mma_sync has k-blocks of 32, 64 or 128 elements",
           {"tile_k"},
           [](const Target&, const Problem&, const Config& c) { return c.tile_k <= kMostTileK; }},
          {"the stages must fit into shared memory",
           {"tile_m", "tile_n", "tile_k", "stages"},
           [](const Target& target, const Problem& p, const Config& c) {
             return shared_bytes(p, c) <= target.info().shared_per_block;
           }},
          {"the accumulators need more registers than a thread has",
           {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n"},
           [](const Target& target, const Problem& p, const Config& c) {
             const int registers = estimated_registers(p, c);
             return registers <= kMostRegisters && registers * c.threads() <= target.info().registers_per_sm;
           }},
          grid_rule()};
}

tune::Demand demand_of(const Target&, const Problem& p, const Config& c) {
  const std::uint64_t depth_blocks =
      (p.k + static_cast<std::uint64_t>(c.tile_k) - 1) / static_cast<std::uint64_t>(c.tile_k);
  const double k_blocks = double(c.grid(p)) * double(depth_blocks), size = p.type.bytes();
  const double stage = double(shared_bytes(p, c)) / c.stages;
  const double fragments = c.tile_k * size * (c.warps_m * c.tile_n / 2.0 + c.warps_n * double(c.tile_m));
  const double mmas = double(c.tile_m) / 8 * c.tile_n / 16 * c.tile_k / instruction_depth(p);
  // The tensor cores multiply the stored elements alone.
  return {.threads = c.threads(),
          .registers = estimated_registers(p, c),
          .shared_bytes = static_cast<std::uint64_t>(shared_bytes(p, c)),
          .blocks = c.grid(p),
          .unit = unit_of(p),
          .operations = 1.0 * c.tile_m * c.tile_n * c.tile_k * k_blocks,
          .instructions = kOfMma * mmas * k_blocks,
          .dram_bytes = input_bytes(p) + output_bytes(p),
          .l2_bytes = k_blocks * stage,
          .shared_traffic = k_blocks * (stage + fragments),
          .steps = depth_blocks,
          .in_flight = c.stages - 1,
          .loads = tune::Loads::threads};
}

}  // namespace

const Strategy& strategy() {
  static const Strategy instance{
      .kernels = {.name = "mma_sync", .rules = rules(), .demand = demand_of, .emit = emit_kernel},
      .find = find_mma};
  return instance;
}

}  // namespace ptxloom::sparse_gemm::mma_sync
