// SPDX-License-Identifier: Apache-2.0
#include "gemm/choice/ranking.hpp"

#include <algorithm>

#include "gemm/choice/correction.hpp"
#include "gemm/choice/demand.hpp"
#include "gemm/config/parameters.hpp"
#include "gemm/config/rules.hpp"

namespace ptxloom::gemm_kernel {
namespace {

constexpr std::size_t kMostNear = 1000;  // are corrected
constexpr std::size_t kMostVaried = 24;  // of these, the best

/// Orders anew, by corrected times, those that may be the fastest.
class Corrector {
 public:
  Corrector(const Correction& correction, const tune::CostModel& model, const Target& target,
            const Problem& problem, const Problem& transpose)
      : correction_(correction), model_(model), target_(target), problem_(problem), transpose_(transpose) {}

  /// `ranked` is in the order of predicted times.
  void apply(std::vector<RankedConfig>& ranked, const Settings& given) const {
    std::size_t near = 0;
    while (near < std::min(ranked.size(), kMostNear) && ranked[near].us <= kNear * ranked.front().us) ++near;
    for (RankedConfig& one : std::span(ranked).first(near)) correct(one);
    std::ranges::stable_sort(std::span(ranked).first(near), {}, &RankedConfig::us);
    const std::vector<RankedConfig> more =
        varied(std::span(ranked).first(std::min(near, kMostVaried)), given);
    ranked.insert(ranked.begin() + static_cast<std::ptrdiff_t>(near), more.begin(), more.end());
    std::ranges::stable_sort(std::span(ranked).first(near + more.size()), {}, &RankedConfig::us);
  }

 private:
  const Problem& seen_by(const Config& c) const { return c.swap ? transpose_ : problem_; }

  void correct(RankedConfig& one) const {
    one.us *= correction_.factor({seen_by(one.config), one.config, one.demand,
                                  model_.resident_blocks(one.demand), model_.sms(), one.us});
  }

  /// Those that differ in one parameter that the walk leaves alone.
  std::vector<RankedConfig> varied(std::span<const RankedConfig> best, const Settings& given) const {
    std::vector<RankedConfig> more;
    for (const RankedConfig& one : best)
      for (const auto& [name, value] : one.config.strategy->variations()) {
        const Parameter& parameter = parameter_named(name);
        if (given.contains(name) || parameter.print(one.config) == value) continue;
        Config c = one.config;
        parameter.read(c, value);
        if (!inadmissible(target_, seen_by(c), c).empty()) continue;
        tune::Demand demand = demand_of(target_, seen_by(c), c, model_.sms());
        const double us = model_.us(demand);
        RankedConfig other{us, std::move(c), std::move(demand)};
        correct(other);
        if (other.us != one.us) more.push_back(std::move(other));  // else the correction does not see it
      }
    return more;
  }

  const Correction& correction_;
  const tune::CostModel& model_;
  const Target& target_;
  const Problem &problem_, &transpose_;
};

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
    Corrector(*correction, model, target, problem, transpose).apply(ranked, given);
  return ranked;
}

}  // namespace ptxloom::gemm_kernel
