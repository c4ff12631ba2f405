// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/pruned_search.hpp"

#include <algorithm>

namespace ptxloom::tune {

PrunedSearch::PrunedSearch(std::span<const Axis> axes)
    : axes_(axes.begin(), axes.end()), below_(axes.size() + 1, 1), rules_(axes.size()) {
  for (std::size_t i = axes_.size(); i > 0; --i) below_[i - 1] = below_[i] * axes_[i - 1].values;
}

void PrunedSearch::add_rule(std::size_t rule, std::span<const std::string> reads) {
  std::size_t deepest = 0;
  for (const std::string& name : reads) {
    const auto axis = std::ranges::find(axes_, name, &Axis::name);
    if (axis != axes_.end()) deepest = std::max(deepest, static_cast<std::size_t>(axis - axes_.begin()));
  }
  rules_[deepest].push_back(rule);
}

void PrunedSearch::run(const Calls& calls) const { descend(0, calls); }

void PrunedSearch::descend(std::size_t axis, const Calls& calls) const {
  if (axis == axes_.size()) return calls.visit();
  for (std::size_t value = 0; value < axes_[axis].values; ++value) {
    calls.assign(axis, value);
    const auto broken = std::ranges::find_if_not(rules_[axis], std::cref(calls.allows));
    if (broken == rules_[axis].end())
      descend(axis + 1, calls);
    else if (calls.removed)
      calls.removed(*broken, below_[axis + 1]);
  }
}

}  // namespace ptxloom::tune
