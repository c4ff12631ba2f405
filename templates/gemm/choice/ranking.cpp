// SPDX-License-Identifier: Apache-2.0
#include "gemm/choice/ranking.hpp"

#include <algorithm>

#include "gemm/choice/correction.hpp"
#include "gemm/choice/demand.hpp"
#include "gemm/config/rules.hpp"

namespace ptxloom::gemm_kernel {
namespace {

constexpr std::size_t kMostNear = 1000;  // are corrected

/// Orders those that may be the fastest anew, by corrected times. `ranked` is in the order of predicted ones.
void correct(const Correction& correction, const tune::CostModel& model, const Problem& problem,
             const Problem& transpose, std::span<RankedConfig> ranked) {
  std::size_t near = 0;
  while (near < std::min(ranked.size(), kMostNear) && ranked[near].us <= kNear * ranked.front().us) ++near;
  for (RankedConfig& one : ranked.first(near)) {
    const Problem& seen = one.config.swap ? transpose : problem;
    one.us *= correction.factor(
        {seen, one.config, one.demand, model.resident_blocks(one.demand), model.sms(), one.us});
  }
  std::ranges::stable_sort(ranked.first(near), {}, &RankedConfig::us);
}

}  // namespace

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
      tune::Demand demand = demand_of(target, c.swap ? transpose : problem, c, model.sms());
      const double us = model.us(demand);
      ranked.push_back({us, std::move(c), std::move(demand)});
    }
  }
  std::ranges::stable_sort(ranked, {}, &RankedConfig::us);
  const Correction* const correction = Correction::measured(target);
  if (correction != nullptr && correction->knows(unit_of(problem)))
    correct(*correction, model, problem, transpose, ranked);
  return ranked;
}

}  // namespace ptxloom::gemm_kernel
