// SPDX-License-Identifier: Apache-2.0
// The choice without measurements: an estimate of the time that a configuration takes.
#include <algorithm>
#include <cmath>

#include "rowwise/config.hpp"

namespace ptxloom::rowwise_kernel {
namespace {

// SMs assumed for every target: the estimate was fitted with this number. They matter only where there are
// about as many rows as teams at once.
constexpr double kSms = 128;
constexpr double kBytesPerClock = 16;   // of device memory, for each SM
constexpr double kLanesPerClock = 128;  // of an SM
// In clocks.
constexpr double kLatency = 900;  // of a load from device memory
constexpr double kWarpReduction = 150, kBarrier = 60, kClusterBarrier = 1000;
constexpr double kStart = 400;     // of a thread block
constexpr double kAlways = 0.05;   // of all work, what nothing hides
constexpr double kAlone = 0.4;     // of all work, what a team alone on its SM does not hide
constexpr double kCluster = 0.15;  // how much longer all takes if twice as many SMs must be free at once
constexpr double kSector = 64;     // bytes that DRAM reads and writes at once

/// How often a row is read.
double reads_of(const Problem& p, const Config& c) {
  if (c.keeps_row(p)) return 1;
  return (p.op == Op::layer_norm ? 3 : 2) + (p.quantised() ? 1 : 0);
}

/// Loads of a row that wait for what came before: those of each part, each time it is read.
double waits_of(const Problem& p, const Config& c) {
  return reads_of(p, c) * std::ceil(double(c.shape(p).slots()) / c.slots(p));
}

double reductions_of(const Problem& p) { return (p.op == Op::layer_norm ? 2 : 1) + (p.quantised() ? 1 : 0); }

double reduction_clocks(const Config& c) {
  if (c.kind == TeamKind::warp) return kWarpReduction * std::log2(double(c.lanes)) / 5;
  const double both = 2 * kWarpReduction + kBarrier * c.threads / 128;
  return c.kind == TeamKind::block ? both : both + kClusterBarrier;
}

/// Instructions for each element that a thread has, elements beyond the row included.
double instructions_of(const Problem& p, const Config& c) {
  const double arithmetic = p.is_norm() ? 8 : 12, accesses = 6.0 / c.vector;
  const bool shifted_vectors = c.shape(p).shifted() && (p.weight || p.bias);
  return (arithmetic + accesses + (shifted_vectors ? 2 : 0)) * reads_of(p, c);
}

/// Instructions of a thread for all of its elements, and for the ends of a row within vectors.
double thread_instructions(const Problem& p, const Config& c) {
  const bool splits = c.shape(p).shifted() || p.n % static_cast<std::uint32_t>(c.vector) != 0;
  const double ends = splits ? 16.0 * c.vector * (reads_of(p, c) + 1) : 0;
  return double(c.shape(p).slots()) * c.vector * instructions_of(p, c) + ends;
}

double clocks_of(const Target& target, const Problem& p, const Config& c) {
  const double resident = resident_blocks(target.info(), p, c);
  const double blocks = double(c.grid(p)), at_once = std::min(resident, std::ceil(blocks / kSms));
  const double rounds = std::ceil(blocks / (kSms * resident));
  const double row_bytes = double(p.n) * (p.x.bytes() * reads_of(p, c) + p.y.bytes() +
                                          (p.residual ? p.residual->bytes() * reads_of(p, c) : 0));
  const double rows = double(c.teams_per_block()) / c.blocks;                   // of a thread block
  const double together = double(c.team().threads()) * c.vector * p.x.bytes();  // bytes of one access
  const double scattered = std::max(1.0, std::min(kSector, double(p.n) * p.x.bytes()) / together);
  const double one = waits_of(p, c) * kLatency + reduction_clocks(c) * reductions_of(p) + kStart;
  const double bytes = at_once * rows * row_bytes * scattered / kBytesPerClock;
  const double work = at_once * c.threads * thread_instructions(p, c) / kLanesPerClock;
  const double alone = one + thread_instructions(p, c);
  // With few teams on an SM, one that loads often has no other beside it that computes.
  const double most = std::max({bytes, work, alone}), others = bytes + work + alone - most;
  return rounds * (1 + kCluster * std::log2(double(c.blocks))) *
         (most + others * (kAlways + kAlone / (at_once * c.teams_per_block())));
}

}  // namespace

std::vector<double> order_of(const tune::CostModel&, const Target& target, const Problem& p,
                             const Config& c) {
  return {clocks_of(target, p, c)};
}

tune::Demand demand_of(const Target&, const Problem& p, const Config& c) {
  const double reads = reads_of(p, c);
  const double once = input_bytes(p) + output_bytes(p);
  const double elements = double(p.rows) * c.shape(p).slots() * c.vector * c.team().threads();
  return {.threads = c.threads,
          .registers = estimated_registers(p, c),
          .shared_bytes = c.kind == TeamKind::warp
                              ? 0
                              : static_cast<std::uint64_t>(4 * sizeof(float)) *
                                    static_cast<std::uint64_t>(c.blocks * c.threads / kit::kWarpThreads),
          .cluster = c.blocks,
          .blocks = c.grid(p),
          .unit = "f32",
          .operations = elements * instructions_of(p, c),
          .dram_bytes = once,
          .l2_bytes = once + (reads - 1) * input_bytes(p),
          .steps = static_cast<std::uint64_t>(waits_of(p, c))};
}

}  // namespace ptxloom::rowwise_kernel
