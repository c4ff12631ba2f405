// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "ptxloom/specs.hpp"
#include "ptxloom/target.hpp"
#include "ptxloom/tuning_space.hpp"
#include "scaled_gemm/problem.hpp"

// The configuration as typed data: how D is divided among thread blocks and warps.
namespace ptxloom::scaled_gemm {

struct Config {
  int tile_m = 128, tile_n = 128, warps_m = 2, warps_n = 2, stages = 2;

  static constexpr int kTileK = 128;  // elements of a k-block
  int threads() const { return 32 * warps_m * warps_n; }
  int warp_m() const { return tile_m / warps_m; }
  int warp_n() const { return tile_n / warps_n; }
  /// Thread blocks of the grid.
  std::uint64_t grid(const Problem& problem) const;
  std::uint64_t stage_bytes(const Problem& problem) const;
};

/// Parameters that are left out keep their defaults.
Config read_config(const Settings& words);
Settings words_of(const Config& config);

/// A condition on a configuration; it is for people, too.
struct Rule {
  std::string_view says;
  std::vector<std::string> reads;
  bool (*allows)(const Target&, const Problem&, const Config&);
};
const std::vector<Rule>& rules();
/// The rule that a configuration breaks; empty if it is admissible.
std::string_view inadmissible(const Target& target, const Problem& problem, const Config& config);

int estimated_registers(const Config& config);
tune::Demand demand_of(const Problem& problem, const Config& config);
/// The admissible configurations that agree with `given`, those with the tiles that suit the shape first.
std::vector<Config> ranked_configs(const ParameterSpace& space, const Target& target, const Problem& problem,
                                   const Settings& given);

}  // namespace ptxloom::scaled_gemm
