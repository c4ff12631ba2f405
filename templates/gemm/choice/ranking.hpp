// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/config.hpp"
#include "ptxloom/tuning_space.hpp"

// The choice without measurements of the problem: what each strategy offers, ranked by the cost model and, on
// a chip where it has been measured, by what the model misses there.
namespace ptxloom::gemm_kernel {

/// Configurations predicted within this multiple of the least time may turn out to be the fastest.
inline constexpr double kNear = 1.5;

struct RankedConfig {
  double us;  ///< by the cost model; of those in front it is corrected (correction.hpp), which orders them
  Config config;
  tune::Demand demand;
};

/// Which of the shapes are ranked: all, or for each strategy the first one that has a configuration.
/// Strategies are compared by what they do best with, and a deeper instruction is never slower.
enum class Shapes { all, first };

/// Configurations with an instruction of these shapes that agree with the given parameters, the fastest
/// first; of equal ones those of the first shape. Where times are corrected, the best ones appear with other
/// values of the strategy's variations, too, as far as the correction tells them apart.
std::vector<RankedConfig> ranked_configs(const ParameterSpace& space, const Specs& specs,
                                         const Target& target, const Problem& problem, const Settings& given,
                                         std::span<const std::string> shapes, Shapes which);

}  // namespace ptxloom::gemm_kernel
