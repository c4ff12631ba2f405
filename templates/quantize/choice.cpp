// SPDX-License-Identifier: Apache-2.0
// The choice without measurements: an estimate of the time that a configuration takes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "quantize/config.hpp"

namespace ptxloom::quantize_kernel {
namespace {

// SMs assumed for every target, as in rowwise. They matter only where there are about as many items as teams
// at once. The other constants are of the same kind: in clocks, and only in part fitted to measurements.
constexpr double kSms = 128;
constexpr double kBytesPerClock = 16;   // of device memory, for each SM
constexpr double kLanesPerClock = 128;  // of an SM
constexpr double kLatency = 900;        // of a load from device memory
constexpr double kShuffle = 30, kBarrier = 60;
constexpr double kStart = 400;  // of a thread block
// Instructions, counted in machine code for sm_90a and sm_100a.
constexpr double kPerElement = 4.5;  // convert, magnitude, scale, round, pack
constexpr double kPerPowerOfTwo = 40, kPerF32 = 50,
                 kPerE4m3 = 90;  // of a chunk: its scale and the store of it
constexpr double kPerEdge = 12;  // of a chunk that may be at the end of its row
constexpr double kSector = 64;   // bytes that DRAM reads and writes at once
constexpr double kApart = 1.14;  // how much longer loads of 64 bytes a lane take than those of 32, on an H200
constexpr double kWide = 0.02;   // how much longer half as many adjacent lanes take for a row
constexpr int kMostResident = 16;
constexpr int kRealigned = 8;  // bytes of the smallest chunk that is read through aligned vectors

/// How often a row is read.
double reads_of(const Problem& p, const Config& c) {
  return p.measures_first() || (p.whole_rows() && !c.keeps_row(p)) ? 2 : 1;
}

/// Bytes of an access, given where rows begin.
double access_bytes(const Problem& p, const Config& c) {
  if (p.transposed) return p.x.bytes();
  if (p.chunks_may_shift(c.vector)) return std::min(16.0, double(c.vector) * p.x.bytes());
  const int chunk = c.vector * p.x.bytes();
  if (c.kind == TeamKind::warp && c.lanes == kit::kWarpThreads && chunk >= kRealigned && chunk <= 16 &&
      p.pitch_x % static_cast<std::uint64_t>(c.vector) != 0)
    return chunk / 2.0;  // two vectors are loaded for a chunk
  const auto common = std::gcd(p.pitch_x, static_cast<std::uint64_t>(c.vector));
  return std::min(16.0, double(common) * p.x.bytes());
}

double scale_instructions(const kit::ScaledFormat& format) {
  return format.power_of_two_scales() ? kPerPowerOfTwo : format.tensor_scale ? kPerE4m3 : kPerF32;
}

/// Instructions of a thread for a chunk.
double chunk_instructions(const Problem& p, const Config& c) {
  const double accesses = c.vector * p.x.bytes() / access_bytes(p, c);
  const double shuffles = p.scales == Scales::group ? std::log2(c.lanes_per_group(p)) : 0;
  const double group = p.scales == Scales::group ? scale_instructions(*p.format) : 0;
  return (kPerElement * c.vector + 2 * accesses) * reads_of(p, c) + 3 * shuffles + group + kPerEdge;
}

/// Elements that threads read at once and that are adjacent in memory.
double adjacent_elements(const Problem& p, const Config& c) {
  if (p.transposed) return double(kit::kWarpThreads) / c.lanes;
  return double(c.row_team(p).threads()) * c.vector;
}

double clocks_of(const Target& target, const Problem& p, const Config& c) {
  const int registers = (estimated_registers(p, c) + 7) / 8 * 8;
  const TargetInfo& chip = target.info();
  const double resident =
      std::max(1, std::min({chip.blocks_per_sm, chip.threads_per_sm / c.threads,
                            chip.registers_per_sm / (registers * c.threads), kMostResident}));
  const double blocks = double(c.grid_x(p) * c.grid_y(p)),
               at_once = std::min(resident, std::ceil(blocks / kSms));
  const double rounds = std::ceil(blocks / (kSms * resident));
  const double chunks = double(c.slots(p)) * (p.whole_rows() ? c.parts(p) : 1);  // of a thread
  const double elements = chunks * c.vector * c.threads;  // of a thread block, those beyond the row included
  const double length = p.transposed ? p.rows : p.n;      // of a row in memory
  const double together = adjacent_elements(p, c) * p.x.bytes();
  const double scattered = std::max(1.0, std::min(kSector, length * p.x.bytes()) / together);
  const double apart = !p.transposed && c.vector * p.x.bytes() > 32 ? kApart : 1;
  const double narrow =
      p.transposed ? 1 : apart * (1 + kWide * std::log2(double(kit::kWarpThreads) / c.lanes));
  const double bytes = narrow * at_once * elements *
                       (p.x.bytes() * reads_of(p, c) + p.format->element.bits / 8.0) * scattered /
                       kBytesPerClock;
  const double work = at_once * c.threads * chunks * chunk_instructions(p, c) / kLanesPerClock;
  const double waits = reads_of(p, c) * (p.whole_rows() ? c.parts(p) : 1);
  const double reduction = p.whole_rows() ? 5 * kShuffle + (c.kind == TeamKind::block ? kBarrier : 0) : 0;
  const double alone = waits * kLatency + reduction + kStart + chunks * chunk_instructions(p, c);
  return rounds * (std::max({bytes, work, alone}) + 0.05 * (bytes + work + alone));
}

}  // namespace

std::vector<double> order_of(const tune::CostModel&, const Target& target, const Problem& p,
                             const Config& c) {
  return {clocks_of(target, p, c)};
}

tune::Demand demand_of(const Target&, const Problem& p, const Config& c) {
  const double once = input_bytes(p) + output_bytes(p);
  const double chunks =
      double(c.items(p)) * c.slots(p) * (p.whole_rows() ? c.parts(p) : 1) * c.team().threads();
  return {.threads = c.threads,
          .registers = estimated_registers(p, c),
          .shared_bytes = c.kind == TeamKind::warp ? 0 : static_cast<std::uint64_t>(c.threads),
          .cluster = 1,
          .blocks = c.grid_x(p) * c.grid_y(p),
          .unit = "f32",
          .operations = chunks * chunk_instructions(p, c),
          .dram_bytes = once,
          .l2_bytes = once + (reads_of(p, c) - 1) * input_bytes(p),
          .steps = static_cast<std::uint64_t>(reads_of(p, c)) *
                   (p.whole_rows() ? static_cast<std::uint64_t>(c.parts(p)) : 1)};
}

}  // namespace ptxloom::quantize_kernel
