// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/wgmma/demand.hpp"

#include <algorithm>
#include <cmath>

#include "scaled_gemm/weights/weight_groups.hpp"
#include "scaled_gemm/wgmma/plan.hpp"

namespace ptxloom::scaled_gemm::wgmma {
namespace {

// Instructions of a warp for a word of weights, counted in machine code by
// tests/bench/templates/weight_instructions.py; those on integers issue in every other clock and count twice.
// A share of the loop is added, 1 to 4 of a word of 4 bits.
constexpr double kOfIntegers = 27, kOfMxFloats = 33, kOfNvFloats = 38, kOfSixBits = 27;
constexpr double kOfWideIntegers = 51, kOfWideSixBits = 50;       // with scales in f32
constexpr double kOfInt8 = 25, kOfFloat8 = 19, kOfMxFloat8 = 24;  // words of four elements
constexpr double kBytesOfIntegers = 21, kBytesOfFloats = 26,      // that become 8 bits
    kBytesOfUnsigned = 31, kBytesOfSixBits = 37, kBytesOfNvFloats = 47;
constexpr double kIntegersAreBytes = 9, kUnsignedAreBytes = 18;  // beside s8
// For integers of 4 bits beside activations of 16 bits they take longer than it takes to issue them; by times
// on an H200 at M = 128 and 256.
constexpr double kStalled = 1.2;
constexpr double kDrainClocks = 100;  // of the pipeline of wgmma, a guess
// Of these instructions, the part that nothing hides, for one to three warpgroups; by times of experts on an
// H200.
constexpr double kExposed[] = {0.4, 0.2, 0.17};
constexpr int kIssued = 4;         // instructions of an SM in a clock
constexpr int kLeastColumns = 32;  // narrower instructions take as long
constexpr double kSector = 32;     // bytes of L2 that are accessed at once
constexpr int kNeighbours = 8;     // elements of D that a warp stores side by side
// Measured on an H200 at N = K = 8192 beyond the bytes that are read: four thread blocks that divide k take
// 2 to 7 us longer than two.
constexpr double kJoinClocks = 8000;  // each time that their number doubles beyond two
constexpr double kTouchClocks = 0.9,
                 kBoxClocks = 0.1;  // for a sector that threads store; an element of a box

double of_bytes(const Operand& b) {
  if (b.format.element == s8) return kOfInt8;
  return b.format.scale == ue8m0 ? kOfMxFloat8 : kOfFloat8;
}

/// Of weights beside e4m3.
double of_weights_as_bytes(const Operand& b) {
  if (b.integers()) return b.zero_points() ? kBytesOfUnsigned : kBytesOfIntegers;
  if (b.format.element.bits == 6) return kBytesOfSixBits;
  return b.format.scale == ue4m3 ? kBytesOfNvFloats : kBytesOfFloats;
}

double instructions_of_word(const Problem& p) {
  if (p.a.format.element == s8) return p.b.zero_points() ? kUnsignedAreBytes : kIntegersAreBytes;
  if (p.row_scales()) return of_weights_as_bytes(p.b);
  if (p.b.bytes()) return of_bytes(p.b);
  const bool wide = p.scales_in_f32();
  if (p.b.integers()) return wide ? kOfWideIntegers : kOfIntegers;
  if (p.b.format.element.bits == 6) return wide ? kOfWideSixBits : kOfSixBits;
  if (p.b.format.scale == ue4m3) return kOfNvFloats;
  return kOfMxFloats;
}

double stalls(const Problem& p) {
  return p.b.integers() && !p.b.bytes() && p.a.format.element.bits == 16 ? kStalled : 1;
}

/// Warps times words that they make fragments of.
double words(const Problem& p, const Config& c, double k_blocks) {
  return k_blocks * row_tiles(c) * (kWarpgroupThreads / 32) * p.b.words_in(c.tile_k);
}

/// Bytes of the table of the dequantiser that a thread block's k-block looks up: a row of it for each of a
/// thread's two rows of weights and each group.
double looked_up(const Problem& p, const Config& c) {
  if (ByteDequantiser::table_bytes(p) == 0) return 0;
  constexpr double kRowBytes = 8;
  return row_tiles(c) * double(kWarpgroupThreads) * p.b.groups_in(c.tile_k) * 2 * kRowBytes;
}

/// Instructions that promote an accumulator.
int promotion(const Problem& p) { return p.a.format.element == s8 ? 3 : 1; }

/// Those of all.
double promotions(const Problem& p, const Config& c, double k_blocks) {
  if (!p.promotes()) return 0;
  const double runs = k_blocks * c.tile_k / run_depth(p, c.tile_k);
  return runs * row_tiles(c) * (kWarpgroupThreads / 32) * c.tile_m / 2 * promotion(p);
}

/// Clocks of a tile in which a warpgroup promotes, or waits for its last products to do so. Others multiply
/// meanwhile.
double drains(const Problem& p, const Config& c) {
  if (!p.promotes()) return 0;
  const double runs = double(parts_of(p.k, c.tile_k)) / c.split * c.tile_k / run_depth(p, c.tile_k);
  return runs * (kDrainClocks + row_tiles_of_warpgroup(c) * c.tile_m / 2.0 * promotion(p)) / warpgroups(c);
}

/// Clocks of a tile in which fragments are made and nothing is multiplied.
double exposed(const Problem& p, const Config& c, const tune::Demand& d) {
  return kExposed[warpgroups(c) - 1] * d.instructions / stalls(p) / double(d.blocks) / kIssued;
}

/// How often an SM begins a tile, if it has one at a time.
double rounds(const Target& target, const Plan& plan, double blocks) {
  return std::max(1.0, blocks / (double(target.info().sms) * plan.blocks_per_sm));
}

void add_stores(tune::Demand& d, const Problem& p, const Config& c) {
  const double elements = double(p.all_rows()) * p.columns(), bytes = output_bytes(p);
  const double of_tile = double(c.tile_m) * c.tile_n;
  d.stored_sectors = staged(p, c) ? bytes / kSector : elements / kNeighbours;
  d.epilogue = staged(p, c) ? kBoxClocks * of_tile : kTouchClocks * of_tile / kNeighbours / c.split;
  d.epilogue += drains(p, c) + exposed(p, c, d);
  d.tail = kJoinClocks * std::log2(std::max(c.split, 2) / 2);
}

/// Thread blocks that share the k-blocks of all tiles. Each writes its part of one or two tiles, and reads as
/// much back, or more if a tile has more parts than units to deal out.
void divide(tune::Demand& d, const StreamPlan& plan, const Problem& p, const Config& c) {
  const double tiles = stream_tiles(p, c), units = kit::StreamKUnits(stream_tile(c)).count;
  d.blocks = plan.blocks;
  d.steps = static_cast<std::uint64_t>(plan.k_blocks);
  d.most_per_sm = 1;
  d.exchanged_bytes =
      (plan.parts > 1 ? 1 : 2) * double(plan.workspace.slot_bytes) * (1 + std::max(1.0, plan.parts / units));
  d.epilogue *= tiles / plan.blocks;
  ++d.grid_waits;
}

}  // namespace

tune::Demand demand_of(const Target& target, const Problem& p, const Config& c) {
  const Plan plan(target.info(), p, c);
  const double k_blocks = double(grid(p, c)) / c.split * double(parts_of(p.k, c.tile_k));
  const double activations = plan.activations.bytes(), all = plan.bytes_of_stage();
  const double accumulators = double(c.tile_m) * c.tile_n * f32.bytes();
  tune::Demand d{.threads = threads(c),
                 .registers = plan.registers,
                 .shared_bytes = static_cast<std::uint64_t>(plan.shared_bytes),
                 .cluster = c.split * c.share,
                 .blocks = grid(p, c),
                 .most_per_sm = plan.blocks_per_sm,
                 .persistent = c.split == 1,
                 .unit = unit_of(p),
                 .operations = 2.0 * std::max(c.tile_m, kLeastColumns) * c.tile_n * c.tile_k * k_blocks,
                 .asynchronous = true,
                 .instructions =
                     words(p, c, k_blocks) * instructions_of_word(p) * stalls(p) + promotions(p, c, k_blocks),
                 .dram_bytes = input_bytes(p) + output_bytes(p),
                 .l2_bytes = k_blocks * (all - activations + activations / c.share),
                 .shared_traffic = k_blocks * (2 * all + (row_tiles(c) - 1) * activations + looked_up(p, c)),
                 .steps = parts_of(parts_of(p.k, c.tile_k), c.split),
                 .in_flight = c.stages - 1,  // one is read
                 .loads = tune::Loads::bulk,
                 .summed_bytes = accumulators * (c.split - 1) / plan.reduction.slices};
  add_stores(d, p, c);
  if (plan.stream) divide(d, *plan.stream, p, c);
  if (c.split > 1) {
    d.summed_bytes *= rounds(target, plan, double(d.blocks));
    d.tail *= rounds(target, plan, double(d.blocks));
  }
  return d;
}

}  // namespace ptxloom::scaled_gemm::wgmma
