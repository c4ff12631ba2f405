// SPDX-License-Identifier: Apache-2.0
#include "gemm/choice/demand.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gemm/config/rules.hpp"
#include "gemm/reduction/stream_k_reduction.hpp"
#include "ptxloom/kit/team.hpp"

namespace ptxloom::gemm_kernel {
namespace {

constexpr std::uint64_t kSector = 32;    // bytes of L2 that are accessed at once
constexpr std::uint64_t kHalfLine = 64;  // bytes
constexpr double kAcrossLines = 3.9;     // factor on the bytes of rows that straddle half lines (fitted)
constexpr double kTouchClocks = 0.9;     // of a store that touches one sector (fitted)
constexpr double kCopyClocks = 2.3;      // of a warp's load from shared memory and its store (fitted)
constexpr double kUnaligned = 1.77;      // sectors for each that is full, where rows are not aligned (fitted)

/// Bytes of sectors and lines that are read for a byte of the operand.
double read_factor(const Problem& p, const Config& c, const Matrix& operand) {
  if (!operand.k_contiguous) return 1;
  const double row = std::min<double>(p.k, c.tile_k) * operand.type.bytes();
  const std::uint64_t pitch = operand.ld * static_cast<std::uint64_t>(operand.type.bytes());
  const auto aligned = static_cast<double>(std::gcd(pitch, kSector));
  const double across = pitch % kHalfLine == 0 ? 1 : kAcrossLines;
  return (row + kSector - aligned) / row * across;
}

/// Each tile of A is read for each column of tiles, or of pairs of tiles that share it.
double operand_bytes(const Problem& p, const Config& c) {
  const bool packed = c.strategy->packs(p);
  const auto factor = [&](const Matrix& operand) { return packed ? 1 : read_factor(p, c, operand); };
  const double a =
      double(p.m) * p.k * p.a.type.bytes() * factor(p.a) * std::ceil(double(p.n) / c.cluster_n());
  const double b =
      double(p.n) * p.k * p.b.type.bytes() * factor(p.b) * std::ceil(double(p.m) / c.cluster_m());
  return (a + b) * p.results();
}

/// The division of the k-blocks among thread blocks.
void divide(tune::Demand& d, const TargetInfo& chip, const Problem& p, const Config& c, int sms) {
  const double tiles = tiles_of(p, c), depth = std::ceil(double(p.k) / c.tile_k);
  if (!c.stream_k) {
    d.blocks = static_cast<std::uint64_t>(tiles * c.split);
    d.steps = static_cast<std::uint64_t>(std::ceil(depth / c.split));
    return;
  }
  const StreamPlan plan(chip, p, c, 0);
  const StreamShare share(plan, p, c, sms);
  d.blocks = static_cast<std::uint64_t>(share.blocks);
  d.steps = static_cast<std::uint64_t>(share.k_blocks);
  // A thread block has parts of one or two shared tiles; it writes them, and reads as much back, or more if a
  // tile has more parts than units to deal out.
  const double rows = std::min(1.0, std::ceil(p.m / 16.0) * 16 / c.tile_m);
  const double left = rows * static_cast<double>(plan.workspace.slot_bytes);
  d.exchanged_bytes =
      (share.parts > 1 ? 1 : 2) * left * (1 + std::max(1.0, share.parts / stream_units(p, c).count));
  d.epilogue *= tiles / share.blocks;
  d.most_per_sm = 1;
  ++d.grid_waits;
}

}  // namespace

double stage_bytes_of(const Problem& p, const Config& c) {
  return double(c.tile_k) * (c.tile_m * p.a.type.bytes() + c.tile_n * p.b.type.bytes());
}

void add_stores(tune::Demand& d, const Problem& p, const Config& c, Stores stores) {
  const double size = p.d.type.bytes(), elements = double(p.m) * p.n * p.results(), tiles = tiles_of(p, c);
  const double aligned = std::min(alignment(p.d, c.swap ? p.m : p.n, true), 32);
  if (stores == Stores::row_by_row) {
    d.epilogue += kCopyClocks * elements * size / (32 * aligned) / tiles;
    d.stored_sectors += elements * size / kSector * (aligned < 16 ? kUnaligned : 1);
    return;
  }
  // A warp stores 8 rows at once: of each, four threads store one or two neighbouring elements; of a
  // transposed tile eight rows are neighbours in D.
  const bool pairs = !c.swap && aligned >= 2 * size;
  const double span = (c.swap || pairs ? 8 : 7) * size, useful = c.swap || pairs ? 8 : 4;
  const double sectors = aligned >= span ? 1 : 1 + (span - aligned) / kSector;
  const double touched = elements / useful * sectors;
  d.epilogue += (kTouchClocks * touched + elements / kit::kWarpThreads) / tiles;
  d.stored_sectors += touched;
}

tune::Demand demand_of(const Target& target, const Problem& p, const Config& c, int sms) {
  const double size = p.d.type.bytes(), elements = double(p.m) * p.n * p.results();
  const std::uint32_t columns = c.swap ? p.m : p.n;
  tune::Demand d{.threads = c.threads(),
                 .cluster = c.cluster(),
                 .in_turn = c.tiles_in_flight(),
                 .unit = unit_of(p),
                 .dram_bytes = input_bytes(p) + elements * size,
                 .l2_bytes = operand_bytes(p, c) + elements * size};
  if (columns * static_cast<std::uint64_t>(p.d.type.bytes()) % kSector != 0)
    d.partial_sectors = 2 * elements / (c.swap ? c.tile_m : c.tile_n);
  c.strategy->demand(target, p, c, d);
  divide(d, target.info(), p, c, sms);
  return d;
}

}  // namespace ptxloom::gemm_kernel
