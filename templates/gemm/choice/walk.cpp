// SPDX-License-Identifier: Apache-2.0
#include "gemm/choice/walk.hpp"

#include <algorithm>

#include "gemm/config/parameters.hpp"
#include "gemm/reduction/stream_k_reduction.hpp"
#include "ptxloom/pruned_search.hpp"

namespace ptxloom::gemm_kernel {
namespace {

/// Whether all that a rule reads is known at the end of a walk.
bool known(const Rule& rule, std::span<const std::string_view> axes, const Settings& given) {
  return std::ranges::all_of(rule.reads, [&](const std::string& name) {
    return std::ranges::find(axes, name) != axes.end() || given.contains(name) ||
           parameter_named(name).of_base;
  });
}

}  // namespace

void walk(const ParameterSpace& space, const Target& target, const Problem& problem, const Settings& given,
          std::span<const std::string_view> axes, const Config& base,
          const std::function<void(const Config&)>& visit) {
  std::vector<int Config::*> fields;
  std::vector<std::vector<int>> values;
  std::vector<tune::PrunedSearch::Axis> sizes;
  for (const std::string_view name : axes) {
    fields.push_back(parameter_named(name).number);
    values.push_back(integers(space, given, name));
    sizes.push_back({name, values.back().size()});
  }
  tune::PrunedSearch search(sizes);
  for (std::size_t i = 0; i < rules().size(); ++i)
    if (known(rules()[i], axes, given)) search.add_rule(i, rules()[i].reads);
  Config config = partial_config(base, given);
  search.run(
      {.assign = [&](std::size_t axis, std::size_t value) { config.*fields[axis] = values[axis][value]; },
       .allows = [&](std::size_t rule) { return rules()[rule].allows(target, problem, config); },
       .visit = [&] { visit(config); }});
}

bool offers_stream_k(const Target& target, const Problem& p, const Settings& given) {
  return !given.contains("stream_k") && may_stream_k(target.info(), p);
}

}  // namespace ptxloom::gemm_kernel
