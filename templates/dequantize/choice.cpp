// SPDX-License-Identifier: Apache-2.0
// The choice without measurements: an estimate of the time that a configuration takes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "dequantize/config.hpp"

namespace ptxloom::dequantize_kernel {
namespace {

// As in quantize: clocks on an assumed number of SMs.
constexpr double kSms = 128;
constexpr double kBytesPerClock = 16, kLanesPerClock = 128;  // of an SM
constexpr double kLatency = 900;                             // of a load from device memory
constexpr double kStart = 400;                               // of a thread block
constexpr double kPerElement = 4;                            // instructions: convert, scale, round
constexpr double kPerChunk = 16;  // instructions: its scale, and the end of the row
constexpr double kSector = 64;    // bytes that DRAM reads and writes at once
constexpr double kWide = 0.02;    // how much longer half as many adjacent lanes take for a row
constexpr int kMostResident = 16;
constexpr int kRealigned = 8;  // bytes of the smallest chunk that goes through aligned vectors

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

double clocks_of(const Target& target, const Problem& p, const Config& c) {
  const int registers = (estimated_registers(p, c) + 7) / 8 * 8;
  const TargetInfo& chip = target.info();
  const double resident =
      std::max(1, std::min({chip.blocks_per_sm, chip.threads_per_sm / c.threads,
                            chip.registers_per_sm / (registers * c.threads), kMostResident}));
  const double blocks = double(c.grid(p)), at_once = std::min(resident, std::ceil(blocks / kSms));
  const double rounds = std::ceil(blocks / (kSms * resident));
  const double elements = double(c.slots(p)) * c.vector * c.threads;
  const double together = double(c.lanes) * c.vector * p.y.bytes();
  const double scattered = std::max(1.0, std::min(kSector, double(p.n) * p.y.bytes()) / together) *
                           (1 + kWide * std::log2(double(kit::kWarpThreads) / c.lanes));
  const double bytes = at_once * elements * (p.y.bytes() + p.format->element.bits / 8.0) * scattered *
                       apart(p, c) / kBytesPerClock;
  const double instructions = c.slots(p) * chunk_instructions(p, c);
  const double work = at_once * c.threads * instructions / kLanesPerClock;
  const double alone = kLatency + kStart + instructions;
  return rounds * (std::max({bytes, work, alone}) + 0.05 * (bytes + work + alone));
}

}  // namespace

std::vector<double> order_of(const tune::CostModel&, const Target& target, const Problem& p,
                             const Config& c) {
  return {clocks_of(target, p, c)};
}

tune::Demand demand_of(const Target&, const Problem& p, const Config& c) {
  const double bytes = input_bytes(p) + output_bytes(p);
  const double chunks = double(p.rows) * c.shape(p).slots() * c.lanes;
  return {.threads = c.threads,
          .registers = estimated_registers(p, c),
          .shared_bytes = 0,
          .cluster = 1,
          .blocks = c.grid(p),
          .unit = "f32",
          .operations = chunks * chunk_instructions(p, c),
          .dram_bytes = bytes,
          .l2_bytes = bytes,
          .steps = 1};
}

}  // namespace ptxloom::dequantize_kernel
