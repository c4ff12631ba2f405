// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/choice/rules.hpp"
#include "gemm/wgmma/plan.hpp"

namespace ptxloom::gemm_kernel::wgmma {
namespace {

constexpr int kLongestBox = 256;  // elements that TMA moves along one dimension

}  // namespace

std::vector<Rule> shape_rules() {
  return {
      {"with strategy=wgmma warps_m must be 4 or 8: the four warps of a warpgroup are along m",
       {"warps_m"},
       [](const Target&, const Problem&, const Config& c) { return c.warps_m == 4 || c.warps_m == 8; }},
      {"there are one or two consumer warpgroups: warps_n must be 1 with warps_m=8, and 1 or 2 with "
       "warps_m=4",
       {"warps_m", "warps_n"},
       [](const Target&, const Problem&, const Config& c) { return c.tile_warps() <= 8; }},
      {"a warpgroup must compute 64 or 128 rows of the tile",
       {"tile_m", "warps_m"},
       [](const Target&, const Problem&, const Config& c) {
         return warpgroup_m(c) == 64 || warpgroup_m(c) == 128;
       }},
      {"a warpgroup must compute a multiple of 8 columns of the tile",
       {"tile_n", "warps_n"},
       [](const Target&, const Problem&, const Config& c) {
         return c.tile_n % (kLeastColumns * c.warps_n) == 0;
       }},
      {"with integers a warpgroup must compute 8, 24 or a multiple of 16 columns of the tile",
       {"tile_n", "warps_n", "mma"},
       [](const Target&, const Problem&, const Config& c) {
         return c.wgmma.every_width || warpgroup_n(c) % 16 == 0 || warpgroup_n(c) < 32;
       }},
      {"with split each thread block stores its own columns: a warpgroup's columns divided by split must be "
       "a multiple of 8",
       {"tile_n", "warps_n", "split"},
       [](const Target&, const Problem&, const Config& c) {
         return warpgroup_n(c) % (kLeastColumns * c.split) == 0;
       }},
      {"tile_k must be at least the k of the wgmma (32 bytes) and at most 256",
       {"tile_k", "mma"},
       [](const Target&, const Problem&, const Config& c) {
         return c.tile_k >= c.mma_k && c.tile_k <= kLongestBox;
       }},
      {"with sums=promoted, which promotes accumulators after each k-block, tile_k must be at most 128",
       {"tile_k"},
       [](const Target&, const Problem& p, const Config& c) {
         return !p.promoted || c.tile_k <= kPromoted;
       }}};
}

}  // namespace ptxloom::gemm_kernel::wgmma
