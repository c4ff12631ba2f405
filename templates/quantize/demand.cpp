// SPDX-License-Identifier: Apache-2.0
// The demand of a configuration on the chip. The cost model estimates its time from it (Loads::streamed).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "quantize/config.hpp"

namespace ptxloom::quantize_kernel {
namespace {

// Instructions, counted in machine code for sm_90a and sm_100a.
constexpr double kPerElement = 4.5;  // convert, magnitude, scale, round, pack
constexpr double kPerPowerOfTwo = 40, kPerF32 = 50,
                 kPerE4m3 = 90;  // of a chunk: its scale and the store of it
constexpr double kPerAccess = 2,
                 kPerLoneElement = 20;  // of a vector, of an element that is guarded by itself
constexpr double kPerEdge = 12;         // of a chunk that may be at the end of its row
constexpr double kApart = 1.14;  // how much longer loads of 64 bytes a lane take than those of 32, on an H200
constexpr double kWide = 0.02;   // how much longer half as many adjacent lanes take for a row
constexpr double kWarpSteps = 5;  // shuffles that reduce the lanes of a warp
constexpr int kRealigned = 8;     // bytes of the smallest chunk that is read through aligned vectors

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
  const double bytes = access_bytes(p, c), accesses = c.vector * p.x.bytes() / bytes;
  const double access = accesses * (c.vector > 1 && bytes <= p.x.bytes() ? kPerLoneElement : kPerAccess);
  const double shuffles = p.scales == Scales::group ? std::log2(c.lanes_per_group(p)) : 0;
  const double group = p.scales == Scales::group ? scale_instructions(*p.format) : 0;
  return (kPerElement * c.vector + access) * reads_of(p, c) + 3 * shuffles + group + kPerEdge;
}

/// Sectors that a warp's loads of a chunk touch: vectors touch each once, elements by themselves touch those
/// of all lanes' chunks, where these are adjacent, once for each element of a chunk.
double chunk_sectors(const Problem& p, const Config& c) {
  const double bytes = c.vector * p.x.bytes();
  return bytes * (access_bytes(p, c) <= p.x.bytes() ? c.vector : 1) * reads_of(p, c);
}

/// Elements that threads read at once and that are adjacent in memory.
double adjacent_elements(const Problem& p, const Config& c) {
  if (p.transposed) return double(kit::kWarpThreads) / c.lanes;
  return double(c.row_team(p).threads()) * c.vector;
}

/// Bytes of the whole tensors that move, given what a thread accesses at once.
double moved_bytes(const Problem& p, const Config& c, double elements) {
  const double row_bytes = double(p.transposed ? p.rows : p.n) * p.x.bytes();
  const double wide = p.transposed ? 1
                                   : (c.vector * p.x.bytes() > 32 ? kApart : 1) *
                                         (1 + kWide * std::log2(double(kit::kWarpThreads) / c.lanes));
  return elements * wide * (p.x.bytes() * reads_of(p, c) + p.format->element.bits / 8.0) *
         tune::sector_factor(row_bytes, adjacent_elements(p, c) * p.x.bytes());
}

}  // namespace

tune::Demand demand_of(const Target&, const Problem& p, const Config& c) {
  const double parts = p.whole_rows() ? c.parts(p) : 1;
  const double threads = double(c.grid_x(p) * c.grid_y(p)) * c.threads;
  const double chunks = c.slots(p) * parts;  // of a thread
  return {.threads = c.threads,
          .registers = estimated_registers(p, c),
          .shared_bytes = c.kind == TeamKind::warp ? 0 : static_cast<std::uint64_t>(c.threads),
          .cluster = 1,
          .blocks = c.grid_x(p) * c.grid_y(p),
          .instructions = threads / kit::kWarpThreads * chunks * chunk_instructions(p, c),
          .dram_bytes = input_bytes(p) + output_bytes(p),
          .l2_bytes = moved_bytes(p, c, threads * chunks * c.vector),
          .steps = static_cast<std::uint64_t>(reads_of(p, c) * parts),
          .loads = tune::Loads::streamed,
          .sectors = threads / kit::kWarpThreads * chunks * chunk_sectors(p, c),
          .teams = c.threads / c.team().threads(),
          .shuffles = p.whole_rows() ? kWarpSteps : 0,
          .barriers = p.whole_rows() && c.kind == TeamKind::block ? 1.0 : 0.0};
}

}  // namespace ptxloom::quantize_kernel
