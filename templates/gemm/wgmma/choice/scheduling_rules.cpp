// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/choice/rules.hpp"

namespace ptxloom::gemm_kernel::wgmma {
std::vector<Rule> scheduling_rules() {
  return {{"with strategy=wgmma static must be none or mnk",
           {"static"},
           [](const Target&, const Problem&, const Config& c) { return c.bake != Bake::nk; }},
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
             return c.wgmma.producer_warp() || c.tiles_in_flight() == 1;
           }},
          {"with loads=thread split must be 1 and stream_k no",
           {"loads", "split", "stream_k"},
           [](const Target&, const Problem&, const Config& c) {
             return c.wgmma.producer_warp() || (c.split == 1 && !c.stream_k);
           }},
          {"groups need loads=warp",
           {"loads"},
           [](const Target&, const Problem& p, const Config& c) {
             return c.wgmma.producer_warp() || p.groups == GemmGroups::none;
           }},
          {"with groups=contiguous two tiles that share an operand must be in one group: tile_m must divide "
           "64 with "
           "multicast=b; with swap=yes tile_n must divide 64 with multicast=a",
           {"tile_m", "tile_n", "multicast"},
           [](const Target&, const Problem& p, const Config& c) {
             return p.groups != GemmGroups::contiguous ||
                    kGroupRows % (c.swap ? c.cluster_n() : c.cluster_m()) == 0;
           }},
          {"with multicast split must be 1",
           {"multicast", "split"},
           [](const Target&, const Problem&, const Config& c) { return c.sharing() == 1 || c.split == 1; }},
          {"multicast=a needs at least two tiles along n, and multicast=b two along m",
           {"multicast", "tile_m", "tile_n"},
           [](const Target&, const Problem& p, const Config& c) {
             return (c.wgmma.multicast != Multicast::a || p.n > static_cast<unsigned>(c.tile_n)) &&
                    (c.wgmma.multicast != Multicast::b || p.m > static_cast<unsigned>(c.tile_m));
           }}};
}

}  // namespace ptxloom::gemm_kernel::wgmma
