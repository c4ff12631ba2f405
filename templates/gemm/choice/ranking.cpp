// SPDX-License-Identifier: Apache-2.0
#include "gemm/choice/ranking.hpp"

#include <algorithm>

#include "gemm/choice/demand.hpp"

namespace ptxloom::gemm_kernel {

std::vector<RankedConfig> ranked_configs(const ParameterSpace& space, const Specs& specs,
                                         const Target& target, const Problem& problem, const Settings& given,
                                         std::span<const std::string> shapes, Shapes which) {
  const tune::CostModel model(target);
  const Problem transpose = transposed(problem);
  std::vector<RankedConfig> ranked;
  const auto ranks = [&](const Strategy* strategy) {
    return std::ranges::any_of(ranked,
                               [&](const RankedConfig& known) { return known.config.strategy == strategy; });
  };
  for (const std::string& shape : shapes) {
    const Config base = base_config(specs, target, problem, given, shape);
    if (which == Shapes::first && ranks(base.strategy)) continue;
    for (Config& c : base.strategy->choose(space, target, problem, given, base)) {
      const double us = model.us(demand_of(target, c.swap ? transpose : problem, c, model.sms()));
      ranked.push_back({us, std::move(c)});
    }
  }
  std::ranges::stable_sort(ranked, {}, &RankedConfig::us);
  return ranked;
}

}  // namespace ptxloom::gemm_kernel
