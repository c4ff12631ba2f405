// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/strategy.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "scaled_gemm/mma_sync/kernel.hpp"
#include "scaled_gemm/weights/weight_groups.hpp"

namespace ptxloom::scaled_gemm::mma_sync {
namespace {

constexpr int kMostRegisters = 255;  // of a thread, on every target
constexpr int kOtherRegisters = 64;  // addresses, positions, factors
constexpr int kMostTileM = 128, kMostStages = 4;
constexpr double kOfBytes = 16;                     // as below, for a word of four elements
constexpr double kOfWord = 30, kOfWideScales = 20;  // instructions of a warp for a word of weights, counted
                                                    // in PTX; more if their scales are f32

// Words, scales and zero points of two k-blocks.
int estimated_registers(const Problem& p, const Config& c) {
  const int tiles = row_tiles_of_group(c), words = p.b.words_in(c.tile_k);
  const int zeros = p.b.zero_points() ? WeightGroups::count_of(p, c.tile_k) : 0;
  const int loaded = words + WeightGroups::scale_registers(p, c.tile_k) + zeros;
  const int accumulators = c.tile_m / 2 * (p.promotes() ? 2 : 1);
  return kOtherRegisters + tiles * (accumulators + 2 * loaded) + c.tile_m / 4;
}

double instructions_of_word(const Problem& p) {
  if (p.b.bytes()) return kOfBytes;
  return kOfWord + (p.scales_in_f32() && !p.row_scales() ? kOfWideScales : 0);
}

bool whole_tiles(const Config& c) {
  const int of_groups = kRows * groups(c);
  return (c.warps_n == kGroupWarps || c.warps_n == 2 * kGroupWarps) &&
         (c.tile_n == of_groups || c.tile_n == 2 * of_groups);
}

std::vector<Rule> rules() {
  return {fixed_rule<&Config::warps_m>("mma_sync", "warps_m"),
          fixed_rule<&Config::split>("mma_sync", "split"),
          fixed_rule<&Config::share>("mma_sync", "share"),
          no_stream_rule("mma_sync"),
          {"strategy mma_sync has tile_m=8, 16, 32, 64 or 128",
           {"tile_m"},
           [](const Target&, const Problem&, const Config& c) {
             return std::has_single_bit(static_cast<unsigned>(c.tile_m)) && c.tile_m <= kMostTileM;
           }},
          {"strategy mma_sync has tile_k=64 or 128",
           {"tile_k"},
           [](const Target&, const Problem&, const Config& c) {
             return c.tile_k <= kit::WeightLayout::kDepthUnit;
           }},
          {"strategy mma_sync has 2 to 4 stages",
           {"stages"},
           [](const Target&, const Problem&, const Config& c) { return c.stages <= kMostStages; }},
          {"four warps have 64 or 128 columns of the tile",
           {"tile_n", "warps_n"},
           [](const Target&, const Problem&, const Config& c) { return whole_tiles(c); }},
          {"the stages must fit into shared memory",
           {"tile_m", "tile_k", "stages"},
           [](const Target& target, const Problem& p, const Config& c) {
             return shared_bytes(p, c) <= target.info().shared_per_block;
           }},
          {"the accumulators need more registers than a thread has",
           {"tile_m", "tile_n", "tile_k", "warps_n"},
           [](const Target&, const Problem& p, const Config& c) {
             return estimated_registers(p, c) <= kMostRegisters;
           }},
          group_rule(),
          grid_rule<grid>({"tile_m", "tile_n"})};
}

tune::Demand demand_of(const Target&, const Problem& p, const Config& c) {
  const double k_blocks = double(grid(p, c)) * double(parts_of(p.k, c.tile_k));
  const double activations = double(shared_bytes(p, c)) / c.stages;
  const double weights = double(c.tile_n) * c.tile_k * p.b.format.element.bits / 8;
  const double words = double(c.tile_n) / 16 * p.b.words_in(c.tile_k);  // of a k-block, for all warps
  return {.threads = threads(c),
          .registers = estimated_registers(p, c),
          .shared_bytes = static_cast<std::uint64_t>(shared_bytes(p, c)),
          .blocks = grid(p, c),
          .unit = unit_of(p),
          .operations = 2.0 * c.tile_m * c.tile_n * c.tile_k * k_blocks,
          .instructions = instructions_of_word(p) * words * k_blocks,
          .dram_bytes = input_bytes(p) + output_bytes(p),
          .l2_bytes = k_blocks * (activations + weights),
          .shared_traffic = k_blocks * activations * (1 + c.warps_n),
          .steps = parts_of(p.k, c.tile_k),
          .in_flight = c.stages - 1,
          .loads = tune::Loads::threads};
}

std::vector<double> order_of(const tune::CostModel& model, const Target& target, const Problem& p,
                             const Config& c) {
  return {model.us(demand_of(target, p, c)), double(-c.stages), double(c.tile_k)};
}

bool serves(const Problem& p) { return p.b.shuffled; }

}  // namespace

const Strategy& strategy() {
  static const Strategy instance{.kernels = {.name = "mma_sync",
                                             .rules = rules(),
                                             .order = order_of,
                                             .demand = demand_of,
                                             .emit = emit_kernel},
                                 .serves = serves,
                                 .has = has_opcode<mma_opcode>};
  return instance;
}

}  // namespace ptxloom::scaled_gemm::mma_sync
