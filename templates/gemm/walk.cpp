// SPDX-License-Identifier: Apache-2.0
#include "walk.hpp"

#include <algorithm>
#include <array>

namespace ptxloom::gemm_kernel {
namespace {

constexpr std::array kOfBase = {"mma", "strategy", "stream_k", "swap"};  // known to a base from the start

/// The axis after which all that a rule reads is known; none if some of it stays unknown.
std::optional<std::size_t> depth_of(const Rule& rule, std::span<const Axis> axes, const Settings& given) {
  std::size_t deepest = 0;
  for (const std::string& word : rule.reads) {
    const auto axis = std::ranges::find(axes, word, &Axis::word);
    if (axis != axes.end())
      deepest = std::max(deepest, static_cast<std::size_t>(axis - axes.begin()));
    else if (!given.contains(word) && std::ranges::find(kOfBase, word) == kOfBase.end())
      return std::nullopt;
  }
  return deepest;
}

}  // namespace

Walk::Walk(const ParameterSpace& space, const Target& target, const Problem& problem, const Settings& given,
           std::span<const Axis> axes)
    : target_(target), problem_(problem), given_(given) {
  for (const auto& [word, number] : axes)
    steps_.push_back({.number = number, .values = choices(space, given, word), .rules = {}});
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

}  // namespace ptxloom::gemm_kernel
