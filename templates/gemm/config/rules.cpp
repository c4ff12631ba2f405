// SPDX-License-Identifier: Apache-2.0
#include "gemm/config/rules.hpp"

#include <fmt/format.h>

#include "gemm/config/parameters.hpp"
#include "gemm/launch/batch.hpp"
#include "gemm/reduction/stream_k_reduction.hpp"

namespace ptxloom::gemm_kernel {
namespace {

constexpr double kMostKBlocks = std::uint64_t{1} << 31;
constexpr int kMostSplitting = 256;  // thread blocks; about what a large chip holds

/// Split-K and stream-K.
std::vector<Rule> scheduling_rules() {
  return {{"split needs clusters, which this target does not have",
           {"split"},
           [](const Target&, const Problem&, const Config& c) { return c.split == 1 || c.clusters; }},
          {"split is for few tiles: at most 256 thread blocks may split k",
           {"tile_m", "tile_n", "split"},
           [](const Target&, const Problem& p, const Config& c) {
             return c.split == 1 || tiles_of(p, c) * c.split <= kMostSplitting;
           }},
          {"k has fewer k-blocks than split has thread blocks",
           {"split", "tile_k"},
           [](const Target&, const Problem& p, const Config& c) {
             return (p.k + static_cast<unsigned>(c.tile_k) - 1) / static_cast<unsigned>(c.tile_k) >=
                    static_cast<unsigned>(c.split);
           }},
          {"with stream_k=yes split must be 1",
           {"split", "stream_k"},
           [](const Target&, const Problem&, const Config& c) { return !c.stream_k || c.split == 1; }},
          {"with stream_k=yes groups must be none: the sizes of groups are known only on the device",
           {"stream_k"},
           [](const Target&, const Problem& p, const Config& c) {
             return !c.stream_k || p.groups == GemmGroups::none;
           }},
          {"with stream_k=yes all tiles together must have fewer than 2^31 k-blocks",
           {"tile_m", "tile_n", "tile_k", "stream_k"},
           [](const Target&, const Problem& p, const Config& c) {
             return !c.stream_k || stream_k_blocks(p, c) < kMostKBlocks;
           }}};
}

/// Instructions, tiles and scale blocks.
std::vector<Rule> shape_rules() {
  return {{"strategy=wgmma needs mma=m64nNk8, m64nNk16 or m64nNk32, and these need strategy=wgmma",
           {"strategy", "mma"},
           [](const Target&, const Problem&, const Config& c) { return c.strategy->owns(c.shape); }},
          {"with swap=yes epilogue must be direct",
           {"swap", "epilogue"},
           [](const Target&, const Problem&, const Config& c) { return !c.swap || !c.staged; }},
          {"with block scales swap must be no",
           {"swap"},
           [](const Target&, const Problem& p, const Config& c) { return !c.swap || !p.terms.by_block(); }},
          {"with groups=contiguous all rows of a tile must be in one group: tile_m must divide 128",
           {"tile_m"},
           [](const Target&, const Problem& p, const Config& c) {
             return c.swap || p.groups != GemmGroups::contiguous || kGroupRows % c.tile_m == 0;
           }},
          {"with groups=contiguous and swap=yes all rows of D in a tile must be in one group: tile_n must "
           "divide 128",
           {"tile_n"},
           [](const Target&, const Problem& p, const Config& c) {
             return !c.swap || p.groups != GemmGroups::contiguous || kGroupRows % c.tile_n == 0;
           }},
          {"with block scales, which change every 128 elements of k, tile_k must be at most 128",
           {"tile_k"},
           [](const Target&, const Problem& p, const Config& c) {
             return !p.terms.by_block() || c.tile_k <= kScaleBlock;
           }},
          {"with scale_b=block the columns of a warp or warpgroup must be in one block of 128: tile_n / "
           "warps_n must divide 128",
           {"tile_n", "warps_n"},
           [](const Target&, const Problem& p, const Config& c) {
             return p.terms.scale_b != GemmScale::block || kScaleBlock % c.warp_n() == 0;
           }}};
}

/// Parameters of other strategies have their defaults.
std::vector<Rule> foreign_rules(const Strategy& strategy) {
  std::vector<Rule> rules;
  for (const Parameter& parameter : parameters()) {
    if (parameter.strategy == nullptr || parameter.strategy == &strategy) continue;
    rules.push_back(
        {fmt::format("with strategy={} {} must be {}: only strategy={} has others", strategy.name(),
                     parameter.name, parameter.print(Config{}), parameter.strategy->name()),
         {std::string(parameter.name)},
         [&parameter](const Target&, const Problem&, const Config& c) { return parameter.has_default(c); }});
  }
  return rules;
}

/// The rules, for configurations of the strategy alone.
std::vector<Rule> only_for(const Strategy& strategy, std::vector<Rule> rules) {
  for (Rule& rule : rules) {
    rule.reads.emplace_back("strategy");
    rule.allows = [&strategy, holds = std::move(rule.allows)](const Target& target, const Problem& p,
                                                              const Config& c) {
      return c.strategy != &strategy || holds(target, p, c);
    };
  }
  return rules;
}

std::vector<Rule> all_rules() {
  std::vector<Rule> all = join_rules({shape_rules(), scheduling_rules()});
  for (const Strategy* strategy : strategies())
    all = join_rules(
        {all, only_for(*strategy, foreign_rules(*strategy)), only_for(*strategy, strategy->rules())});
  return all;
}

}  // namespace

std::span<const Rule> rules() {
  static const std::vector<Rule> all = all_rules();
  return all;
}

std::string_view inadmissible(const Target& target, const Problem& problem, const Config& config) {
  return broken_rule(rules(), target, problem, config);
}

}  // namespace ptxloom::gemm_kernel
