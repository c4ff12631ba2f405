// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/strategy.hpp"

#include <utility>

#include "scaled_gemm/dequantize/halves.hpp"
#include "scaled_gemm/dequantize/kernel.hpp"
#include "scaled_gemm/warp_tiles.hpp"

namespace ptxloom::scaled_gemm::dequantize {
namespace {

constexpr int kOtherRegisters = 90;  // addresses, positions, a chunk that is converted
constexpr int kMostDepth = 128;
constexpr std::uint32_t kFewRows = 32;
constexpr int kWgmmaDepth = 64;
// Instructions of a warp for a chunk by the element's bits, counted in machine code for sm_90a by
// tests/bench/templates/weight_instructions.py, those on integers twice; and of a k-block beside these and
// the products.
constexpr double kOfChunk8 = 107, kOfChunk6 = 222, kOfChunk4 = 114, kOfLoop = 65;

int estimated_registers(const Config& c) {
  const int accumulators = warp_m(c) * warp_n(c) / 32, fragments = warp_m(c) / 4 + warp_n(c) / 4;
  const int scales = (c.tile_m + c.tile_n) * c.tile_k / kChunk / tile_threads(c);
  return kOtherRegisters + accumulators + fragments + scales;
}

double of_chunk(const Operand& operand) {
  const int bits = operand.format.element.bits;
  return bits == 8 ? kOfChunk8 : bits == 6 ? kOfChunk6 : kOfChunk4;
}

/// Instructions that all warps of a thread block issue for a k-block.
double instructions(const Problem& p, const Config& c) {
  const double rows = warp_m(c) / 16.0, columns = warp_n(c) / 8.0;
  const double per_row = double(c.tile_k) / kChunk / 32;  // chunks of a warp
  return c.warps_m * c.warps_n * (c.tile_k / 16.0 * (rows * columns + rows + columns) + kOfLoop) +
         per_row * (c.tile_m * of_chunk(p.a) + c.tile_n * of_chunk(p.b));
}

template <const MultiplierKind& kKind>
std::vector<Rule> limit_rules() {
  return {{"the stages must fit into shared memory",
           {"tile_m", "tile_n", "tile_k", "stages"},
           [](const Target& target, const Problem& p, const Config& c) {
             return shared_bytes(p, c, kKind) <= target.info().shared_per_block;
           }},
          {"the accumulators need more registers than a thread has",
           {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n"},
           [](const Target& target, const Problem&, const Config& c) {
             const int registers = estimated_registers(c);
             return registers <= kMostThreadRegisters &&
                    registers * tile_threads(c) <= target.info().registers_per_sm;
           }}};
}

std::vector<Rule> depth_rules() {
  return {{"strategy dequantize has tile_k=64 or 128",
           {"tile_k"},
           [](const Target&, const Problem&, const Config& c) { return c.tile_k <= kMostDepth; }}};
}

std::vector<Rule> warpgroup_rules() {
  return {{"strategy dequantize_wgmma has tile_m=64 or 128",
           {"tile_m"},
           [](const Target&, const Problem&, const Config& c) { return c.tile_m % kWgmmaRows == 0; }},
          {"strategy dequantize_wgmma has warps_m=4: warpgroups side by side",
           {"warps_m"},
           [](const Target&, const Problem&, const Config& c) { return c.warps_m == kWarpgroupWarps; }},
          {"strategy dequantize_wgmma has tile_k=64: rows of 128 bytes",
           {"tile_k"},
           [](const Target&, const Problem&, const Config& c) { return c.tile_k == kWgmmaDepth; }}};
}

/// Of all thread blocks.
double k_blocks_of(const Problem& p, const Config& c) {
  return double(tile_grid(p, c)) * double(parts_of(p.k, c.tile_k));
}

template <const MultiplierKind& kKind>
tune::Demand demand_of(const Target&, const Problem& p, const Config& c) {
  const double k_blocks = k_blocks_of(p, c);
  const double packed =
      double(packed_tile(p.a, c.tile_m, c.tile_k).bytes()) + packed_tile(p.b, c.tile_n, c.tile_k).bytes();
  const double a = halves_tile(c.tile_m, c.tile_k).bytes(), b = halves_tile(c.tile_n, c.tile_k).bytes();
  return {.threads = tile_threads(c),
          .registers = estimated_registers(c),
          .shared_bytes = static_cast<std::uint64_t>(shared_bytes(p, c, kKind)),
          .blocks = tile_grid(p, c),
          .unit = "f16",
          .operations = 2.0 * c.tile_m * c.tile_n * c.tile_k * k_blocks,
          .instructions = instructions(p, c) * k_blocks,
          .dram_bytes = input_bytes(p) + output_bytes(p),
          .l2_bytes = k_blocks * packed,
          .shared_traffic = k_blocks * (2 * packed + a * (1 + c.warps_n) + b * (1 + c.warps_m)),
          .steps = parts_of(p.k, c.tile_k),
          .in_flight = c.stages - 1,
          .loads = tune::Loads::threads};
}

// wgmma reads B for each 64 rows, not for the rows of each warp.
tune::Demand warpgroup_demand(const Target& target, const Problem& p, const Config& c) {
  tune::Demand d = demand_of<kWgmma>(target, p, c);
  d.asynchronous = true;
  d.shared_traffic +=
      k_blocks_of(p, c) * halves_tile(c.tile_n, c.tile_k).bytes() * (c.tile_m / kWgmmaRows - c.warps_m);
  return d;
}

template <tune::Demand (*kDemand)(const Target&, const Problem&, const Config&)>
std::vector<double> order_of(const tune::CostModel& model, const Target& target, const Problem& p,
                             const Config& c) {
  return {model.us(kDemand(target, p, c)), double(-c.stages), double(c.tile_k)};
}

template <const MultiplierKind& kKind>
Emitted emit_by(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p, const Config& c) {
  return emit_kernel(std::move(specs), target, p, c, kKind);
}

bool serves(const Problem& p) { return !p.b.shuffled; }
// An instruction has 64 rows: few of them are not worth it. And gates and values are adjacent tiles of
// mma.sync, but in one of wgmma.
bool warpgroup_serves(const Problem& p) { return serves(p) && p.m > kFewRows && !p.swiglu; }

bool has_mma(const Specs& specs, const Target& target, const Problem&) {
  return find_mma(specs, target).has_value();
}
// A target that has one of them has all.
bool has_wgmma(const Specs& specs, const Target& target, const Problem&) {
  constexpr int kLeastColumns = 8;
  return find_wgmma(specs, target, kLeastColumns).has_value();
}

}  // namespace

const Strategy& strategy() {
  static const Strategy instance{.kernels = {.name = "dequantize",
                                             .rules = join_rules({warp_tile_rules("dequantize"),
                                                                  depth_rules(), limit_rules<kMmaSync>()}),
                                             .order = order_of<demand_of<kMmaSync>>,
                                             .demand = demand_of<kMmaSync>,
                                             .emit = emit_by<kMmaSync>},
                                 .serves = serves,
                                 .has = has_mma};
  return instance;
}

const Strategy& warpgroup_strategy() {
  static const Strategy instance{.kernels = {.name = "dequantize_wgmma",
                                             .rules = join_rules({warp_tile_rules("dequantize_wgmma"),
                                                                  warpgroup_rules(), limit_rules<kWgmma>()}),
                                             .order = order_of<warpgroup_demand>,
                                             .demand = warpgroup_demand,
                                             .emit = emit_by<kWgmma>},
                                 .serves = warpgroup_serves,
                                 .has = has_wgmma};
  return instance;
}

}  // namespace ptxloom::scaled_gemm::dequantize
