// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gemm/reduction/cluster_reduction.hpp"
#include "gemm/reduction/stream_k_reduction.hpp"
#include "gemm/wgmma/choice/rules.hpp"
#include "gemm/wgmma/plan.hpp"

namespace ptxloom::gemm_kernel::wgmma {
namespace {

constexpr int kPatternRows = 8;       // of a swizzle
constexpr int kMostLoads = 16;        // per stage; the producer has few registers
constexpr int kTensorAlignment = 16;  // bytes
constexpr int kLeastStagedRow = 32;   // columns; for narrower boxes storing from registers is cheaper

bool aligned_row(Type type, std::uint64_t elements) {
  return elements * static_cast<std::uint64_t>(type.bytes()) % kTensorAlignment == 0;
}

}  // namespace

std::vector<Rule> shared_memory_rules() {
  return {
      {"epilogue=staged stores rows of at least 16 bytes, and a warpgroup's part of D, or its slice with "
       "split, has fewer",
       {"tile_n", "warps_n", "split", "epilogue"},
       [](const Target&, const Problem& p, const Config& c) {
         return !c.staged ||
                aligned_row(p.d.type, static_cast<std::uint64_t>(warpgroup_n(c) / reduction_slices(c)));
       }},
      {"a stage needs more than 16 TMA loads: an operand that is contiguous along m or n needs a tile that "
       "larger boxes divide, such as a multiple of 64",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n"},
       [](const Target& target, const Problem& p, const Config& c) {
         const Plan plan(target.info(), p, c);
         return plan.a.boxes() + plan.b.boxes() <= kMostLoads;
       }},
      {"rows of D that do not start and end at multiples of 16 bytes are staged in boxes of at least 32 "
       "columns, and a warpgroup's columns are not a multiple of that: use epilogue=direct",
       {"tile_n", "warps_n", "split", "epilogue"},
       [](const Target& target, const Problem& p, const Config& c) {
         if (!c.staged) return true;
         const Plan plan(target.info(), p, c);
         return plan.tma_stores_d || plan.store.width >= kLeastStagedRow;
       }},
      {"the accumulators that thread blocks exchange (split) need more shared memory than the stages have",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n", "stages", "split"},
       [](const Target& target, const Problem& p, const Config& c) {
         return cluster_reduction_bytes(p, c) <= Plan(target.info(), p, c).shared.offset("stores");
       }},
      {"the slices of shared tiles (stream_k) need more shared memory than the stages have",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n", "stages", "stream_k"},
       [](const Target& target, const Problem& p, const Config& c) {
         return !c.stream_k ||
                stream_slice_bytes(p, as_cooperative(c)) <= Plan(target.info(), p, c).shared.offset("stores");
       }},
      {"with multicast each thread block loads half of a tile, which must be a multiple of 8 rows of a box",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n", "multicast"},
       [](const Target& target, const Problem& p, const Config& c) {
         const Plan plan(target.info(), p, c);
         return plan.a.loaded_rows() % kPatternRows == 0 && plan.b.loaded_rows() % kPatternRows == 0;
       }},
      {"the stages need more shared memory than a thread block has",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n", "schedule", "stages", "epilogue"},
       [](const Target& target, const Problem& p, const Config& c) {
         return Plan(target.info(), p, c).shared_bytes <= target.info().shared_per_block;
       }}};
}

}  // namespace ptxloom::gemm_kernel::wgmma
