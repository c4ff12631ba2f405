// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxloom/config_parameter.hpp"
#include "ptxloom/config_rule.hpp"
#include "scaled_gemm/problem/problem.hpp"

// The configuration as typed data: how D and k are divided among thread blocks and warps. What the numbers
// mean beyond that is the strategy's (strategy.hpp).
namespace ptxloom::scaled_gemm {

struct Config {
  int tile_m = 128, tile_n = 128, tile_k = 128;  // of a thread block; tile_k is a k-block
  int warps_m = 2, warps_n = 2;                  // that multiply
  int stages = 2;                                // k-blocks in shared memory
  int split = 1;                                 // thread blocks of a cluster that divide k among them
  int share = 1;          // thread blocks of a cluster that load rows of A for each other
  bool stream_k = false;  // thread blocks share the k-blocks of all tiles evenly
};

inline constexpr std::array<std::string_view, 2> kNoYes = {"no", "yes"};

/// A new parameter is a field, a row here and one in space.json.
inline constexpr ConfigParameter<Config> kParameters[] = {
    parameter::number<&Config::tile_m>("tile_m"),
    parameter::number<&Config::tile_n>("tile_n"),
    parameter::number<&Config::tile_k>("tile_k"),
    parameter::number<&Config::warps_m>("warps_m"),
    parameter::number<&Config::warps_n>("warps_n"),
    parameter::number<&Config::stages>("stages"),
    parameter::number<&Config::split>("split"),
    parameter::number<&Config::share>("share"),
    parameter::choice<kNoYes, &Config::stream_k>("stream_k"),
};

using Rule = ConfigRule<Problem, Config>;

/// "strategy wgmma has warps_m=1"
template <int Config::* kField>
Rule fixed_rule(const std::string& strategy, const std::string& parameter) {
  return {"strategy " + strategy + " has " + parameter + "=1",
          {parameter},
          [](const Target&, const Problem&, const Config& c) { return c.*kField == 1; }};
}

/// "strategy mma_sync has stream_k=no"
inline Rule no_stream_rule(const std::string& strategy) {
  return {"strategy " + strategy + " has stream_k=no",
          {"stream_k"},
          [](const Target&, const Problem&, const Config& c) { return !c.stream_k; }};
}

/// `grid`: thread blocks of the grid, which these parameters decide.
template <std::uint64_t (*kGrid)(const Problem&, const Config&)>
Rule grid_rule(std::vector<std::string> reads) {
  constexpr std::uint64_t kMostBlocks = (std::uint64_t{1} << 31) - 1;
  return {"a grid has at most 2^31 - 1 thread blocks", std::move(reads),
          [](const Target&, const Problem& p, const Config& c) { return kGrid(p, c) <= kMostBlocks; }};
}

/// A rule of all strategies: no tile has rows of two groups.
inline Rule group_rule() {
  return {"with groups=contiguous tile_m must divide 128 rows",
          {"tile_m"},
          [](const Target&, const Problem& p, const Config& c) {
            return p.groups != Groups::contiguous || kGroupRows % c.tile_m == 0;
          }};
}

}  // namespace ptxloom::scaled_gemm
