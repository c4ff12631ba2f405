// SPDX-License-Identifier: Apache-2.0
// The demand of a configuration on the chip. The cost model estimates its time from it (Loads::streamed).
#include <algorithm>
#include <cmath>

#include "rowwise/config.hpp"

namespace ptxloom::rowwise_kernel {
namespace {

constexpr double kWarpSteps = 5;  // shuffles that add up the lanes of a warp

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

/// Instructions for each element that a thread has, elements beyond the row included.
double instructions_of(const Problem& p, const Config& c) {
  const double arithmetic = p.is_norm() ? 8 : 12, accesses = 12.0 / c.vector;
  const bool shifted_vectors = c.shape(p).shifted() && (p.weight || p.bias);
  return (arithmetic + accesses + (shifted_vectors ? 2 : 0)) * reads_of(p, c);
}

/// Instructions of a thread for all of its elements, and for the ends of a row within vectors.
double thread_instructions(const Problem& p, const Config& c) {
  const bool splits = c.shape(p).shifted() || p.n % static_cast<std::uint32_t>(c.vector) != 0;
  const double ends = splits ? 16.0 * c.vector * (reads_of(p, c) + 1) : 0;
  return double(c.shape(p).slots()) * c.vector * instructions_of(p, c) + ends;
}

/// Bytes of a row that move between memory and the SM.
double row_bytes(const Problem& p, const Config& c) {
  const double read = p.x.bytes() + (p.residual ? p.residual->bytes() : 0);
  return double(p.n) * (read * reads_of(p, c) + p.y.bytes());
}

}  // namespace

tune::Demand demand_of(const Target&, const Problem& p, const Config& c) {
  const double threads = double(c.grid(p)) * c.threads, at_once = double(c.team().threads()) * c.vector;
  const double warps_reduce = c.kind == TeamKind::warp ? std::log2(double(c.lanes)) : 2 * kWarpSteps;
  const double reductions = reductions_of(p);
  return {.threads = c.threads,
          .registers = estimated_registers(p, c),
          .shared_bytes = c.kind == TeamKind::warp
                              ? 0
                              : static_cast<std::uint64_t>(4 * sizeof(float)) *
                                    static_cast<std::uint64_t>(c.blocks * c.threads / kit::kWarpThreads),
          .cluster = c.blocks,
          .blocks = c.grid(p),
          .instructions = threads / kit::kWarpThreads * thread_instructions(p, c),
          .dram_bytes = input_bytes(p) + output_bytes(p),
          .l2_bytes = double(p.rows) * row_bytes(p, c) *
                      tune::sector_factor(double(p.n) * p.x.bytes(), at_once * p.x.bytes()),
          .steps = static_cast<std::uint64_t>(waits_of(p, c)),
          .loads = tune::Loads::streamed,
          .teams = c.teams_per_block(),
          .shuffles = warps_reduce * reductions,
          .barriers = c.kind == TeamKind::warp ? 0 : c.threads / 128.0 * reductions,
          .cluster_barriers = c.kind == TeamKind::cluster ? reductions : 0};
}

}  // namespace ptxloom::rowwise_kernel
