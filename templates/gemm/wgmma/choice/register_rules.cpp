// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/choice/rules.hpp"
#include "gemm/wgmma/plan.hpp"

namespace ptxloom::gemm_kernel::wgmma {
namespace {

// Registers of a thread in addition to accumulators and kBesideAccumulators:
constexpr int kOfReducedTerms = 12;  // with stream_k, if the epilogue does more than store
constexpr int kOfRows = 32;          // if D is stored row by row: in 4 bytes with C, or with loads=thread
constexpr int kOfNarrowRows = 12;    // in fewer bytes with C
constexpr int kOfOthers = 32;        // with `split`: to read another thread block's accumulators

// The configuration with the most registers per thread.
Config without_producer_warp(Config c) {
  c.wgmma.loads = Loads::thread;
  return as_cooperative(c);
}

int of_rows(const Problem& p, const Config& c) {
  if (!c.wgmma.producer_warp()) return kOfRows;
  if (!p.reads_c()) return 0;
  return p.d.type.bytes() < 4 ? kOfNarrowRows : kOfRows;
}

}  // namespace

std::vector<Rule> register_rules() {
  return {
      {"the accumulators need more registers than a thread has",
       {"tile_m", "tile_n", "warps_m", "warps_n"},
       [](const Target& target, const Problem& p, const Config& c) {
         return accumulator_registers(p, c) + kBesideAccumulators <=
                target.info().registers_with(1, without_producer_warp(c).threads());
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
         return c.tiles_in_flight() == 1 || accumulator_registers(p, c) + kBesideAccumulators <=
                                                target.info().registers_with(1, c.threads());
       }},
      {"the accumulators leave too few registers for the epilogue after a stream-K reduction (stream_k)",
       {"tile_m", "tile_n", "warps_m", "warps_n", "stream_k"},
       [](const Target& target, const Problem& p, const Config& c) {
         return !c.stream_k || ((p.terms.none() || p.terms.by_block()) && !p.reads_c()) ||
                accumulator_registers(p, c) + kBesideAccumulators + kOfReducedTerms <=
                    target.info().registers_with(1, as_cooperative(c).threads());
       }},
      {"the accumulators leave too few registers to store D row by row, beside C or with loads=thread: rows "
       "of D do not start and end at multiples of 16 bytes, so epilogue=staged has no TMA stores",
       {"tile_m", "tile_n", "warps_m", "warps_n", "schedule", "loads", "epilogue"},
       [](const Target& target, const Problem& p, const Config& c) {
         return !c.staged || alignment(p.d, p.n, true) == 16 ||
                accumulator_registers(p, c) + kBesideAccumulators + of_rows(p, c) <=
                    target.info().registers_with(1, c.threads());
       }},
      {"the accumulators leave too few registers to read those of the other thread blocks (split)",
       {"tile_m", "tile_n", "warps_m", "warps_n", "split"},
       [](const Target& target, const Problem& p, const Config& c) {
         return c.split == 1 || accumulator_registers(p, c) + kBesideAccumulators + kOfOthers <=
                                    target.info().registers_with(1, as_cooperative(c).threads());
       }}};
}

}  // namespace ptxloom::gemm_kernel::wgmma
