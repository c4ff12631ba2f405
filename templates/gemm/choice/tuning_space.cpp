// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "gemm/choice/demand.hpp"
#include "gemm/config/parameters.hpp"
#include "gemm/config/rules.hpp"

namespace ptxloom::gemm_kernel {
namespace {

/// Reads the parameters that are present; a field that none of them affects stays the same for all
/// configurations.
class Reader {
 public:
  Reader(const Specs& specs, const Target& target, const Problem& problem,
         const std::vector<std::string>& shapes)
      : target_(target), problem_(problem), transposed_(transposed(problem)) {
    for (const std::string& shape : shapes) bases_[shape] = base_config(specs, target, problem, {}, shape);
  }

  Config operator()(const Settings& settings) const {
    const auto shape = settings.find("mma");
    return partial_config(shape == settings.end() ? bases_.begin()->second : bases_.at(shape->second),
                          settings);
  }
  const Target& target() const { return target_; }
  const Problem& seen_by(const Config& c) const { return c.swap ? transposed_ : problem_; }

 private:
  Target target_;
  Problem problem_, transposed_;
  std::map<std::string, Config, std::less<>> bases_;
};

using AvailableStrategies = std::vector<const Strategy*>;

AvailableStrategies strategies_of(const std::vector<std::string>& shapes) {
  AvailableStrategies available;
  for (const Strategy* one : strategies())
    if (std::ranges::any_of(shapes, [&](const std::string& shape) { return one->owns(shape); }))
      available.push_back(one);
  return available;
}

/// The values of a parameter that the target has and that the search tries.
std::vector<std::string> searched_values(const TemplateParameter& parameter,
                                         const AvailableStrategies& available, const Target& target,
                                         const Problem& p) {
  const auto& searched = parameter_named(parameter.name).searched;
  if (searched != nullptr && !searched(target, p, available)) return {parameter.values.front()};
  std::vector<std::string> values = parameter.values;
  if (parameter.name == "strategy")
    std::erase_if(values, [&](const std::string& name) {
      return std::ranges::find(available, name, &Strategy::name) == available.end();
    });
  return values;
}

}  // namespace

std::string unit_of(const Problem& problem) {
  const Type type = problem.a.type;
  if (type == tf32 || type == f64) return std::string(type.name);
  return type.bits == 8 ? "b8" : "f16";
}

tune::Space tuning_space(const ParameterSpace& space, const Specs& specs, const Target& target,
                         const Problem& problem) {
  const std::vector<std::string> shapes = mma_shapes(space, specs, target, problem);
  const auto read = std::make_shared<const Reader>(specs, target, problem, shapes);
  const AvailableStrategies available = strategies_of(shapes);
  tune::Space result;
  for (const TemplateParameter& parameter : space.config())
    result.parameters.push_back(
        {parameter.name,
         parameter.name == "mma" ? shapes : searched_values(parameter, available, target, problem)});
  for (const Rule& rule : rules()) {
    std::vector<std::string> reads = rule.reads;
    reads.emplace_back("swap");  // which decides what m and n are
    result.rules.push_back(
        {.name = std::string(rule.says), .reads = reads, .allows = [read, &rule](const Settings& settings) {
           const Config c = (*read)(settings);
           return rule.allows(read->target(), read->seen_by(c), c);
         }});
  }
  result.demand = [read, sms = tune::CostModel(target).sms()](const Settings& settings) {
    const Config c = (*read)(settings);
    return demand_of(read->target(), read->seen_by(c), c, sms);
  };
  return result;
}

}  // namespace ptxloom::gemm_kernel
