// SPDX-License-Identifier: Apache-2.0
// The demand of a configuration on the chip. The cost model estimates its time from it (Loads::streamed).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "dequantize/config.hpp"

namespace ptxloom::dequantize_kernel {
namespace {

constexpr double kPerElement = 4;  // instructions: convert, scale, round
constexpr double kPerChunk = 16;   // instructions: its scale, and the end of the row
constexpr double kWide = 0.02;     // how much longer half as many adjacent lanes take for a row
constexpr int kRealigned = 8;      // bytes of the smallest chunk that goes through aligned vectors

/// How much longer all takes where lanes store more than 16 adjacent bytes, so that their accesses are apart:
/// on an H200 1.6 times with 32 bytes, 1.85 with 64 (docs/results/narrow-h200.md).
double apart(const Problem& p, const Config& c) {
  const int bytes = c.vector * p.y.bytes();
  return bytes <= 16 ? 1 : bytes <= 32 ? 1.6 : 1.85;
}

/// Bytes of an access to y, given where rows begin.
double access_bytes(const Problem& p, const Config& c) {
  if (p.chunks_may_shift(c.vector)) return std::min(16.0, double(c.vector) * p.y.bytes());
  const int chunk = c.vector * p.y.bytes();
  if (c.lanes == kit::kWarpThreads && chunk >= kRealigned && chunk <= 16 &&
      p.pitch_y % static_cast<std::uint64_t>(c.vector) != 0)
    return chunk / 2.0;  // two vectors take part in a chunk
  const auto common = std::gcd(p.pitch_y, static_cast<std::uint64_t>(c.vector));
  return std::min(16.0, double(common) * p.y.bytes());
}

double chunk_instructions(const Problem& p, const Config& c) {
  return kPerElement * c.vector + 2 * c.vector * p.y.bytes() / access_bytes(p, c) + kPerChunk;
}

/// Sectors that a warp's stores of a chunk touch: as in quantize.
double chunk_sectors(const Problem& p, const Config& c) {
  return c.vector * p.y.bytes() * (access_bytes(p, c) <= p.y.bytes() ? c.vector : 1);
}

/// Bytes of the whole tensors that move, given what a thread accesses at once.
double moved_bytes(const Problem& p, const Config& c, double elements) {
  const double row_bytes = double(p.n) * p.y.bytes(), together = double(c.lanes) * c.vector * p.y.bytes();
  const double wide = apart(p, c) * (1 + kWide * std::log2(double(kit::kWarpThreads) / c.lanes));
  return elements * wide * (p.y.bytes() + p.format->element.bits / 8.0) *
         tune::sector_factor(row_bytes, together);
}

}  // namespace

tune::Demand demand_of(const Target&, const Problem& p, const Config& c) {
  const double threads = double(c.grid(p)) * c.threads, chunks = c.slots(p);  // of a thread
  return {.threads = c.threads,
          .registers = estimated_registers(p, c),
          .shared_bytes = 0,
          .cluster = 1,
          .blocks = c.grid(p),
          .instructions = threads / kit::kWarpThreads * chunks * chunk_instructions(p, c),
          .dram_bytes = input_bytes(p) + output_bytes(p),
          .l2_bytes = moved_bytes(p, c, threads * chunks * c.vector),
          .steps = 1,
          .loads = tune::Loads::streamed,
          .sectors = threads / kit::kWarpThreads * chunks * chunk_sectors(p, c),
          .teams = c.threads / c.lanes};
}

}  // namespace ptxloom::dequantize_kernel
