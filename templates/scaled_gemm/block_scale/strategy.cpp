// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/strategy.hpp"

#include <cmath>
#include <utility>

#include "scaled_gemm/block_scale/kernel.hpp"
#include "scaled_gemm/block_scale/scale_loads.hpp"
#include "scaled_gemm/warp_tiles.hpp"

namespace ptxloom::scaled_gemm::block_scale {
namespace {

constexpr int kOtherRegisters = 64;  // addresses, positions, scales
// Instructions of a warp, counted in the SASS for sm_120a of four configurations:
constexpr double kOfLoop = 48;   // of a k-block
constexpr double kOfCopy = 7;    // of each copy of kCopyBytes that a thread makes
constexpr double kOfScales = 4;  // of each register of scales
constexpr int kCopyBytes = 16;
constexpr int kLongestRow = 128;  // bytes of a tile: the width of all banks

std::uint64_t shared_bytes(const Problem& p, const Config& c) {
  const int bits = c.tile_m * p.a.tile_bits() + c.tile_n * p.b.tile_bits();
  return static_cast<std::uint64_t>(c.stages) * static_cast<std::uint64_t>(bits) *
         static_cast<std::uint64_t>(c.tile_k) / 8;
}

int groups(const Problem& p, const Config& c) {
  return p.a.scaled() ? c.tile_k / static_cast<int>(p.a.format.block) : 0;
}

// The fragments of a k-step have as many bits for all formats.
int estimated_registers(const Problem& p, const Config& c) {
  const int accumulators = warp_m(c) * warp_n(c) / 32;
  const int fragments = warp_m(c) / 4 + warp_n(c) / 4;
  const int scales = 2 * (warp_m(c) / 16 + warp_n(c) / 8) * groups(p, c) / ScaleLoads::kPerRegister;
  return kOtherRegisters + accumulators + fragments + scales;
}

/// Instructions that all warps of a thread block issue for a k-block: products, loads of fragments, copies
/// and scales. One ldmatrix loads 16 rows of A or 8 columns of B for a k-step.
double instructions(const Problem& p, const Config& c) {
  const double rows = warp_m(c) / 16.0, columns = warp_n(c) / 8.0;
  const double steps = double(c.tile_k) / mma_depth(p);
  const double copies = double(shared_bytes(p, c)) / c.stages / kCopyBytes / tile_threads(c);
  const double scales = (rows + columns) * groups(p, c) / ScaleLoads::kPerRegister;
  return c.warps_m * c.warps_n *
         (steps * (rows * columns + rows + columns) + kOfLoop + kOfCopy * copies + kOfScales * scales);
}

std::vector<Rule> own_rules() {
  return {{"a row of a k-block has at most 128 bytes and a multiple of four scales",
           {"tile_k"},
           [](const Target&, const Problem& p, const Config& c) {
             return c.tile_k * p.a.tile_bits() <= 8 * kLongestRow &&
                    groups(p, c) % ScaleLoads::kPerRegister == 0;
           }},
          {"the stages must fit into shared memory",
           {"tile_m", "tile_n", "tile_k", "stages"},
           [](const Target& target, const Problem& p, const Config& c) {
             return shared_bytes(p, c) <= static_cast<std::uint64_t>(target.info().shared_per_block);
           }},
          {"the accumulators need more registers than a thread has",
           {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n"},
           [](const Target& target, const Problem& p, const Config& c) {
             const int registers = estimated_registers(p, c);
             return registers <= kMostThreadRegisters &&
                    registers * tile_threads(c) <= target.info().registers_per_sm;
           }}};
}

tune::Demand demand_of(const Target&, const Problem& p, const Config& c) {
  const double k_blocks = double(tile_grid(p, c)) * double(parts_of(p.k, c.tile_k));
  const double a = double(c.tile_m) * c.tile_k * p.a.tile_bits() / 8;  // bytes of a k-block
  const double b = double(c.tile_n) * c.tile_k * p.b.tile_bits() / 8;
  const double scales = double(c.tile_m + c.tile_n) * groups(p, c) * p.a.format.scale.whole_bytes();
  return {.threads = tile_threads(c),
          .registers = estimated_registers(p, c),
          .shared_bytes = shared_bytes(p, c),
          .blocks = tile_grid(p, c),
          .unit = unit_of(p),
          .operations = 2.0 * c.tile_m * c.tile_n * c.tile_k * k_blocks,
          .instructions = instructions(p, c) * k_blocks,
          .dram_bytes = input_bytes(p) + output_bytes(p),
          .l2_bytes = k_blocks * (a + b + scales),
          .shared_traffic = k_blocks * (a * (1 + c.warps_n) + b * (1 + c.warps_m)),
          .steps = parts_of(p.k, c.tile_k),
          .in_flight = c.stages - 1,
          .loads = tune::Loads::threads};
}

std::vector<double> order_of(const tune::CostModel& model, const Target& target, const Problem& p,
                             const Config& c) {
  return {model.us(demand_of(target, p, c)), double(-c.stages), double(c.tile_k)};
}

bool serves_blocks(const Problem& p) { return p.a.scaled() && p.a.format.scale == p.b.format.scale; }
bool serves_plain(const Problem& p) { return !p.b.shuffled && !p.a.scaled(); }

Strategy named(const std::string& name, bool (*serves)(const Problem&)) {
  return {.kernels = {.name = name,
                      .rules = join_rules({warp_tile_rules(name), own_rules()}),
                      .order = order_of,
                      .demand = demand_of,
                      .emit = emit_kernel},
          .serves = serves,
          .has = has_opcode<mma_opcode>};
}

}  // namespace

const Strategy& strategy() {
  static const Strategy instance = named("block_scale", serves_blocks);
  return instance;
}

}  // namespace ptxloom::scaled_gemm::block_scale

namespace ptxloom::scaled_gemm::f8f6f4 {

const Strategy& strategy() {
  static const Strategy instance = block_scale::named("f8f6f4", block_scale::serves_plain);
  return instance;
}

}  // namespace ptxloom::scaled_gemm::f8f6f4
