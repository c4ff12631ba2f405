// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/strategy.hpp"

#include <utility>

#include "scaled_gemm/wgmma/demand.hpp"
#include "scaled_gemm/wgmma/kernel.hpp"
#include "scaled_gemm/wgmma/plan.hpp"

namespace ptxloom::scaled_gemm::wgmma {
namespace {

// Larger thread blocks of a cluster may fail to launch.
constexpr int kMostSharedInCluster = 200 * 1024;
// The estimate for stream-K has not been compared with measurements, as those for clusters that divide k
// have. So it must promise this much.
constexpr double kLeastGain = 1.3;

std::uint64_t k_blocks(const Problem& p, const Config& c) { return parts_of(p.k, c.tile_k); }

/// Tiles that warpgroups, k-blocks and clusters divide.
std::vector<Rule> shape_rules() {
  return {
      fixed_rule<&Config::warps_m>("wgmma", "warps_m"),
      {"strategy wgmma has warps_n=4, 8 or 12: one to three warpgroups side by side",
       {"warps_n"},
       [](const Target&, const Problem&, const Config& c) { return c.warps_n >= 4; }},
      {"a warpgroup has 64 or 128 columns of the tile",
       {"tile_n", "warps_n"},
       [](const Target&, const Problem&, const Config& c) {
         const int least = kRows * warpgroups(c);
         return c.warps_n >= 4 && (c.tile_n == least || c.tile_n == 2 * least);
       }},
      {"weights are filled up to a multiple of 128 elements of k, which k-blocks must divide",
       {"tile_k"},
       [](const Target&, const Problem& p, const Config& c) {
         return p.b.weights().filled_depth() % static_cast<std::uint64_t>(c.tile_k) == 0;
       }},
      {"each thread block of a cluster must have a k-block",
       {"tile_k", "split"},
       [](const Target&, const Problem& p, const Config& c) {
         return static_cast<std::uint64_t>(c.split) <= k_blocks(p, c);
       }},
      {"thread blocks that share rows of A divide those of a tile, 8 or a multiple for each, and have all of "
       "k",
       {"tile_m", "split", "share"},
       [](const Target&, const Problem&, const Config& c) {
         return c.share == 1 || (c.split == 1 && c.tile_m % (8 * c.share) == 0);
       }},
      group_rule()};
}

std::vector<Rule> stream_rules() {
  return {{"stream-K divides k itself: split=1",
           {"split", "stream_k"},
           [](const Target&, const Problem&, const Config& c) { return !c.stream_k || c.split == 1; }},
          {"stream-K is for single thread blocks: share=1",
           {"share", "stream_k"},
           [](const Target&, const Problem&, const Config& c) { return !c.stream_k || c.share == 1; }},
          {"stream_k=yes is for products without groups",
           {"stream_k"},
           [](const Target&, const Problem& p, const Config& c) {
             return !c.stream_k || p.groups == Groups::none;
           }},
          {"stream_k=yes is for fewer tiles than twice the chip's SMs",
           {"tile_m", "tile_n", "stream_k"},
           [](const Target& target, const Problem& p, const Config& c) {
             return !c.stream_k || stream_tiles(p, c) < 2.0 * target.info().sms;
           }},
          {"all tiles together have fewer than 2^31 k-blocks with stream_k=yes",
           {"tile_m", "tile_n", "tile_k", "stream_k"},
           [](const Target&, const Problem& p, const Config& c) {
             return !c.stream_k || stream_k_blocks(p, c) < 0x1p31;
           }},
          {"the slices of shared tiles (stream_k) need more shared memory than the stages have",
           {"tile_m", "tile_n", "tile_k", "warps_n", "stages", "stream_k"},
           [](const Target& target, const Problem& p, const Config& c) {
             return !c.stream_k || kit::StreamKUnits(stream_tile(c)).slice_bytes() <=
                                       c.stages * Plan(target.info(), p, c).stage_bytes;
           }}};
}

/// What a thread, a thread block and a grid can hold.
std::vector<Rule> limit_rules() {
  return {{"the accumulators need more registers than a thread has",
           {"tile_m", "tile_n", "tile_k", "warps_n", "share"},
           [](const Target& target, const Problem& p, const Config& c) {
             return Plan(target.info(), p, c).registers <= target.info().registers_with(1, threads(c));
           }},
          {"the stages must fit into shared memory",
           {"tile_m", "tile_n", "tile_k", "warps_n", "stages", "split", "share", "stream_k"},
           [](const Target& target, const Problem& p, const Config& c) {
             const int most = c.split * c.share == 1 ? target.info().shared_per_block : kMostSharedInCluster;
             return Plan(target.info(), p, c).shared_bytes <= most;
           }},
          grid_rule<grid>({"tile_m", "tile_n", "split", "share"})};
}

std::vector<Rule> rules() { return join_rules({shape_rules(), stream_rules(), limit_rules()}); }

std::vector<double> order_of(const tune::CostModel& model, const Target& target, const Problem& p,
                             const Config& c) {
  const double us = model.us(demand_of(target, p, c)) * (c.stream_k ? kLeastGain : 1);
  return {us, double(c.stream_k), double(c.split), double(-c.stages)};
}

bool serves(const Problem& p) { return p.b.shuffled; }
std::string least_opcode(const Problem& p) { return opcode(p, 8); }

}  // namespace

const Strategy& strategy() {
  static const Strategy instance{.kernels = {.name = "wgmma",
                                             .rules = rules(),
                                             .order = order_of,
                                             .demand = demand_of,
                                             .emit = emit_kernel},
                                 .serves = serves,
                                 .has = has_opcode<least_opcode>};
  return instance;
}

}  // namespace ptxloom::scaled_gemm::wgmma
