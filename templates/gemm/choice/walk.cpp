// SPDX-License-Identifier: Apache-2.0
#include "gemm/choice/walk.hpp"

#include <algorithm>
#include <optional>

#include "gemm/config/parameters.hpp"
#include "gemm/reduction/stream_k_reduction.hpp"

namespace ptxloom::gemm_kernel {
namespace {

/// The axis after which all that a rule reads is known; none if some of it stays unknown.
std::optional<std::size_t> depth_of(const Rule& rule, std::span<const std::string_view> axes,
                                    const Settings& given) {
  std::size_t deepest = 0;
  for (const std::string& name : rule.reads) {
    const auto axis = std::ranges::find(axes, name);
    if (axis != axes.end())
      deepest = std::max(deepest, static_cast<std::size_t>(axis - axes.begin()));
    else if (!given.contains(name) && !parameter_named(name).of_base)
      return std::nullopt;
  }
  return deepest;
}

}  // namespace

Walk::Walk(const ParameterSpace& space, const Target& target, const Problem& problem, const Settings& given,
           std::span<const std::string_view> axes)
    : target_(target), problem_(problem), given_(given) {
  for (const std::string_view name : axes)
    steps_.push_back(
        {.number = parameter_named(name).number, .values = integers(space, given, name), .rules = {}});
  for (const Rule& rule : rules())
    if (const auto depth = depth_of(rule, axes, given)) steps_[*depth].rules.push_back(&rule);
}

void Walk::run(const Config& base, const Visit& visit) const {
  Config config = partial_config(base, given_);
  descend(0, config, visit);
}

void Walk::descend(std::size_t depth, Config& config, const Visit& visit) const {
  if (depth == steps_.size()) return visit(config);
  const Step& step = steps_[depth];
  for (const int value : step.values) {
    config.*step.number = value;
    const auto allows = [&](const Rule* rule) { return rule->allows(target_, problem_, config); };
    if (std::ranges::all_of(step.rules, allows)) descend(depth + 1, config, visit);
  }
}

bool offers_stream_k(const Problem& p, const Settings& given) {
  return !given.contains("stream_k") && p.m > kSmallM && may_stream_k(p);
}

}  // namespace ptxloom::gemm_kernel
