// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gemm/epilogue/cluster_reduction.hpp"
#include "gemm/stream_k/reduction.hpp"
#include "gemm/wgmma/choice.hpp"
#include "gemm/wgmma/plan.hpp"

namespace ptxloom::gemm_kernel::wgmma {
namespace {

// Registers of a thread in addition to accumulators and kBesideAccumulators:
constexpr int kOfReducedTerms = 12;  // with stream_k, if the epilogue does more than store
constexpr int kOfRows = 32;          // if D is stored row by row: in 4 bytes with C, or with loads=thread
constexpr int kOfNarrowRows = 12;    // in fewer bytes with C
constexpr int kOfOthers = 32;        // with `split`: to read another thread block's accumulators

constexpr int kLeastColumns = 8;                                // of a wgmma, and of a slice of D
constexpr int kPatternRows = 8;                                 // of a swizzle
constexpr int kLongestBox = 256;                                // elements that TMA moves along one dimension
constexpr int kMostLoads = 16;                                  // per stage; the producer has few registers
constexpr int kTensorAlignment = 16;                            // bytes
constexpr std::uint64_t kMostPacked = std::uint64_t{32} << 30;  // bytes; 32 bits count units of 16
constexpr std::uint64_t kMostScales = std::uint64_t{1} << 30;   // of scale blocks; coordinates have 31 bits
constexpr int kLeastStagedRow = 32;  // columns; for narrower boxes storing from registers is cheaper

bool aligned(Type type, std::uint64_t elements) {
  return elements * static_cast<std::uint64_t>(type.bytes()) % kTensorAlignment == 0;
}

Config as_cooperative(Config c) {
  c.schedule = Schedule::cooperative;
  return c;
}

// The configuration with the most registers per thread.
Config without_producer_warp(Config c) {
  c.loads = Loads::thread;
  return as_cooperative(c);
}

int of_rows(const Problem& p, const Config& c) {
  if (!c.producer_warp()) return kOfRows;
  if (!p.reads_c()) return 0;
  return p.d.type.bytes() < 4 ? kOfNarrowRows : kOfRows;
}

}  // namespace

std::vector<Rule> rules() {
  std::vector<Rule> all = {
      {"strategy=wgmma packs operands whose row pitch is not a multiple of 16 bytes: static must be mnk",
       {"static"},
       [](const Target&, const Problem& p, const Config& c) {
         return c.bake == Bake::mnk || !PackPlan(p).any();
       }},
      {"thread blocks that pack operands wait for each other and must all be resident at once: split must be "
       "1; stream_k=yes splits k too",
       {"split"},
       [](const Target&, const Problem& p, const Config& c) { return c.split == 1 || !PackPlan(p).any(); }},
      {"strategy=wgmma packs at most 32 GiB of A and B: use strategy=mma",
       {},
       [](const Target&, const Problem& p, const Config&) {
         return PackPlan(p).workspace_bytes() <= kMostPacked;
       }},
      {"strategy=wgmma loads at most 4 GiB of block scales: use strategy=mma",
       {},
       [](const Target&, const Problem& p, const Config& c) {
         const ScaleTile scales(p, c);
         return std::max(scales.a.factors, scales.b.factors) <= kMostScales;
       }},
      {"wgmma transposes only 16-bit operands: use a_layout=row and b_layout=col, so that A and B are "
       "contiguous along k, or strategy=mma",
       {"mma"},
       [](const Target&, const Problem& p, const Config& c) {
         return (p.a.k_contiguous && p.b.k_contiguous) || c.mma.operand_index("TB") >= 0;
       }},
      {"epilogue=staged stores rows of at least 16 bytes, and a warpgroup's part of D, or its slice with "
       "split, has fewer",
       {"tile_n", "warps_n", "split", "epilogue"},
       [](const Target&, const Problem& p, const Config& c) {
         return !c.staged ||
                aligned(p.d.type, static_cast<std::uint64_t>(c.warpgroup_n() / reduction_slices(c)));
       }},
      {"with strategy=wgmma prefetch must be step, and static none or mnk",
       {"prefetch", "static"},
       [](const Target&, const Problem&, const Config& c) { return !c.across_tiles && c.bake != Bake::nk; }},
      {"with strategy=wgmma warps_m must be 4 or 8: the four warps of a warpgroup are along m",
       {"warps_m"},
       [](const Target&, const Problem&, const Config& c) { return c.warps_m == 4 || c.warps_m == 8; }},
      {"there are one or two consumer warpgroups: warps_n must be 1 with warps_m=8, and 1 or 2 with "
       "warps_m=4",
       {"warps_m", "warps_n"},
       [](const Target&, const Problem&, const Config& c) { return c.tile_warps() <= 8; }},
      {"with schedule=pingpong each warpgroup has its own tile: warps_m must be 4 and warps_n 1",
       {"schedule", "warps_m", "warps_n"},
       [](const Target&, const Problem&, const Config& c) {
         return c.tiles_in_flight() == 1 || c.tile_warps() == 4;
       }},
      {"with schedule=pingpong split must be 1",
       {"schedule", "split"},
       [](const Target&, const Problem&, const Config& c) {
         return c.tiles_in_flight() == 1 || c.split == 1;
       }},
      {"with schedule=pingpong stream_k must be no",
       {"schedule", "stream_k"},
       [](const Target&, const Problem&, const Config& c) {
         return c.tiles_in_flight() == 1 || !c.stream_k;
       }},
      {"groups, sums=promoted and block scales need schedule=cooperative",
       {"schedule"},
       [](const Target&, const Problem& p, const Config& c) {
         return c.tiles_in_flight() == 1 || (p.groups == GemmGroups::none && !p.promoted);
       }},
      {"with loads=thread schedule must be cooperative",
       {"loads", "schedule"},
       [](const Target&, const Problem&, const Config& c) {
         return c.producer_warp() || c.tiles_in_flight() == 1;
       }},
      {"with loads=thread split must be 1 and stream_k no",
       {"loads", "split", "stream_k"},
       [](const Target&, const Problem&, const Config& c) {
         return c.producer_warp() || (c.split == 1 && !c.stream_k);
       }},
      {"groups need loads=warp",
       {"loads"},
       [](const Target&, const Problem& p, const Config& c) {
         return c.producer_warp() || p.groups == GemmGroups::none;
       }},
      {"a warpgroup must compute 64 or 128 rows of the tile",
       {"tile_m", "warps_m"},
       [](const Target&, const Problem&, const Config& c) {
         return c.warpgroup_m() == 64 || c.warpgroup_m() == 128;
       }},
      {"a warpgroup must compute a multiple of 8 columns of the tile",
       {"tile_n", "warps_n"},
       [](const Target&, const Problem&, const Config& c) {
         return c.tile_n % (kLeastColumns * c.warps_n) == 0;
       }},
      {"with integers a warpgroup must compute 8, 24 or a multiple of 16 columns of the tile",
       {"tile_n", "warps_n", "mma"},
       [](const Target&, const Problem&, const Config& c) {
         return c.every_width || c.warpgroup_n() % 16 == 0 || c.warpgroup_n() < 32;
       }},
      {"the accumulators need more registers than a thread has",
       {"tile_m", "tile_n", "warps_m", "warps_n"},
       [](const Target& target, const Problem& p, const Config& c) {
         return accumulator_registers(p, c) + kBesideAccumulators <=
                registers_with(1, target.info(), without_producer_warp(c));
       }},
      {"the accumulators leave too few registers for two consumer warpgroups and the producer (loads)",
       {"tile_m", "tile_n", "warps_m", "warps_n", "loads"},
       [](const Target& target, const Problem& p, const Config& c) {
         return leaves_registers(target.info(), p, as_cooperative(c));
       }},
      {"with schedule=pingpong a tile can have at most 128 x 128 elements: two warpgroups hold one each in "
       "registers",
       {"tile_m", "tile_n", "warps_m", "warps_n", "schedule"},
       [](const Target& target, const Problem& p, const Config& c) {
         return c.tiles_in_flight() == 1 ||
                accumulator_registers(p, c) + kBesideAccumulators <= registers_with(1, target.info(), c);
       }},
      {"the accumulators leave too few registers for the epilogue after a stream-K reduction (stream_k)",
       {"tile_m", "tile_n", "warps_m", "warps_n", "stream_k"},
       [](const Target& target, const Problem& p, const Config& c) {
         return !c.stream_k || ((p.terms.none() || p.terms.by_block()) && !p.reads_c()) ||
                accumulator_registers(p, c) + kBesideAccumulators + kOfReducedTerms <=
                    registers_with(1, target.info(), as_cooperative(c));
       }},
      {"the accumulators leave too few registers to store D row by row, beside C or with loads=thread: rows "
       "of D do not start and end at multiples of 16 bytes, so epilogue=staged has no TMA stores",
       {"tile_m", "tile_n", "warps_m", "warps_n", "schedule", "loads", "epilogue"},
       [](const Target& target, const Problem& p, const Config& c) {
         return !c.staged || alignment(p.d, p.n, true) == 16 ||
                accumulator_registers(p, c) + kBesideAccumulators + of_rows(p, c) <=
                    registers_with(1, target.info(), c);
       }},
      {"the accumulators leave too few registers to read those of the other thread blocks (split)",
       {"tile_m", "tile_n", "warps_m", "warps_n", "split"},
       [](const Target& target, const Problem& p, const Config& c) {
         return c.split == 1 || accumulator_registers(p, c) + kBesideAccumulators + kOfOthers <=
                                    registers_with(1, target.info(), as_cooperative(c));
       }},
      {"with split each thread block stores its own columns: a warpgroup's columns divided by split must be "
       "a multiple of 8",
       {"tile_n", "warps_n", "split"},
       [](const Target&, const Problem&, const Config& c) {
         return c.warpgroup_n() % (kLeastColumns * c.split) == 0;
       }},
      {"with multicast split must be 1",
       {"multicast", "split"},
       [](const Target&, const Problem&, const Config& c) { return c.sharing() == 1 || c.split == 1; }},
      {"multicast=a needs at least two tiles along n, and multicast=b two along m",
       {"multicast", "tile_m", "tile_n"},
       [](const Target&, const Problem& p, const Config& c) {
         return (c.multicast != Multicast::a || p.n > static_cast<unsigned>(c.tile_n)) &&
                (c.multicast != Multicast::b || p.m > static_cast<unsigned>(c.tile_m));
       }},
      {"tile_k must be at least the k of the wgmma (32 bytes) and at most 256",
       {"tile_k", "mma"},
       [](const Target&, const Problem&, const Config& c) {
         return c.tile_k >= c.mma_k && c.tile_k <= kLongestBox;
       }},
      {"with sums=promoted, which promotes accumulators after each k-block, tile_k must be at most 128",
       {"tile_k"},
       [](const Target&, const Problem& p, const Config& c) { return !p.promoted || c.tile_k <= kPromoted; }},
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
         return cluster_reduction_bytes(p, c) <= Plan(target.info(), p, c).stores_at;
       }},
      {"the slices of shared tiles (stream_k) need more shared memory than the stages have",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n", "stages", "stream_k"},
       [](const Target& target, const Problem& p, const Config& c) {
         return !c.stream_k ||
                stream_slice_bytes(p, as_cooperative(c)) <= Plan(target.info(), p, c).stores_at;
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
       }},
  };
  return all;
}

}  // namespace ptxloom::gemm_kernel::wgmma
