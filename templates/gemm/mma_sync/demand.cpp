// SPDX-License-Identifier: Apache-2.0
#include "gemm/choice/demand.hpp"
#include "gemm/mma_sync/choice.hpp"
#include "gemm/reduction/cluster_reduction.hpp"
#include "gemm/reduction/stream_k_reduction.hpp"
#include "ptxloom/kit/mma.hpp"
#include "ptxloom/kit/team.hpp"

namespace ptxloom::gemm_kernel::mma_sync {
namespace {

// Fitted, like the constants of the cost model (specs/README.md):
constexpr double kOfMma = 3.1;           // instructions for an mma, with its share of the loop
constexpr double kFragmentBytes = 1730;  // read from shared memory by an instruction
constexpr double kBounds = 3.4;          // times as many instructions copy where bounds are checked
// Of these, with sizes and pitches that are constants, where copies go through registers: counted in machine
// code, 116 of 163 and 213 of 306 instructions of a loop. Asynchronous copies save none.
constexpr double kKnownBounds = 0.7;
// Where ptxas makes f16 of mma.sync of e4m3 and e5m2: each becomes two HMMA, and four FADD add their sums to
// D (counted in machine code). An F2FP converts two elements of each thread and takes as long as two
// instructions (measured).
constexpr double kMoreOfFp8 = 5;
constexpr double kConvertedBytes = 32;

bool is_fp8(const Type& type) { return type == e4m3 || type == e5m2; }

/// Instructions for a copy of a warp to shared memory, with what they keep the load/store unit busy.
double of_copy(int bytes) {
  switch (bytes) {
    case 16:
      return 6.3;
    case 8:
      return 11.4;
    case 4:
      return 9.8;
    default:
      return 4.7;  // through registers
  }
}

double of_bounds(const OperandPlan& x, const Config& c) {
  if (x.whole_extent && x.whole_k) return 1;
  return kBounds * (c.bake == Bake::mnk && !x.access.asynchronous ? kKnownBounds : 1);
}

double copy_instructions(const OperandPlan& x, const Config& c) {
  const double bytes = double(c.tile_k) * x.tile * x.matrix.type.bytes();
  return bytes / (x.access.bytes * kit::kWarpThreads) * of_copy(x.access.bytes) * of_bounds(x, c);
}

}  // namespace

void add_demand(const Target& target, const Problem& p, const Config& c, tune::Demand& d) {
  const double k_blocks = stream_k_blocks(p, c), k = c.tile_k;
  const double mmas = double(c.tile_m) / c.mma_m * c.tile_n / c.mma_n * c.k_steps();
  const double fragments = k * c.warps() * (c.warp_m() * p.a.type.bytes() + c.warp_n() * p.b.type.bytes());
  const double copies = copy_instructions(plan_a(p, c), c) + copy_instructions(plan_b(p, c), c);
  d.registers = needed_registers(p, c);
  d.shared_bytes = static_cast<std::uint64_t>(shared_bytes(p, c));
  d.operations = 2.0 * c.tile_m * c.tile_n * k * k_blocks;
  d.instructions = (kOfMma * mmas + fragments / kFragmentBytes + copies) * k_blocks;
  if (kit::multiplies_fp8_as_f16(target) && is_fp8(p.a.type)) {
    d.unit = "f16";
    d.instructions += (kMoreOfFp8 * mmas + fragments / kConvertedBytes) * k_blocks;
  }
  d.shared_traffic = (fragments + stage_bytes_of(p, c)) * k_blocks;
  d.load_instructions = copies;
  d.loads = c.a.asynchronous && c.b.asynchronous ? tune::Loads::threads : tune::Loads::registers;
  d.in_flight = c.stages - 1;
  add_stores(d, p, c, c.staged ? Stores::row_by_row : Stores::from_registers);
  if (c.split > 1) d.summed_bytes = cluster_reduction_bytes(p, c) * (c.split - 1.0);
}

}  // namespace ptxloom::gemm_kernel::mma_sync
