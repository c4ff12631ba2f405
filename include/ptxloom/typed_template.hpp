// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxloom/config_parameter.hpp"
#include "ptxloom/config_rule.hpp"
#include "ptxloom/pruned_search.hpp"
#include "ptxloom/space.hpp"
#include "ptxloom/template.hpp"

/// \file
/// A template of typed parts. A family of kernels is its space.json, a `Problem` and a `Config` as plain
/// data, a table of the fields of `Config`, rules, the demand on the chip, an emitter and a reference.
/// TypedTemplate makes a Template of them: it chooses configurations, gives the tuner its space, and refuses
/// what the rules do not admit.
///
///     const pl::Template& softmax() {
///       static const pl::TypedTemplate<Problem, Config> instance({.space = kSpaceJson,
///                                                                 .parameters = kParameters,
///                                                                 .tensors = tensors_of,
///                                                                 .operations = operations_of,
///                                                                 .strategy = strategy_for,
///                                                                 .expect = reference});
///       return instance;
///     }
namespace [[gnu::visibility("default")]] ptxloom {

/// How kernels of a family are made. A family has one strategy, or several of which the problem and the
/// target decide: one for each instruction, say.
template <class Problem, class Config>
struct TypedStrategy {
  /// The value of the parameter `strategy` in space.json; empty: there is no such parameter.
  std::string name = {};
  std::vector<ConfigRule<Problem, Config>> rules;  ///< in the order in which errors quote them
  /// Admissible configurations are chosen by these numbers: smaller is better, compared from the first one
  /// on. Empty: by the time that the model gives their demand.
  std::function<std::vector<double>(const tune::CostModel&, const Target&, const Problem&, const Config&)>
      order = {};
  std::function<tune::Demand(const Target&, const Problem&, const Config&)> demand;  ///< see tune::Demand
  /// The kernels of an admissible configuration.
  std::function<Emitted(std::shared_ptr<const Specs>, const Target&, const Problem&, const Config&)> emit;
};

/// The parts of a family. `Problem` is made of settings with all parameters that the problem has.
template <class Problem, class Config>
struct TypedFamily {
  std::string_view space;        ///< the text of space.json; it must outlive the template
  std::string_view digest = {};  ///< see Template::digest
  std::span<const ConfigParameter<Config>>
      parameters;  ///< all of the configuration but `strategy`; a static table
  /// The problem with all its parameters, checked; empty: each by itself (ParameterSpace::complete). Throws
  /// Error(usage) for values that do not go together.
  std::function<Settings(const ParameterSpace&, const Settings& given)> problem = {};
  std::function<std::vector<TensorPlan>(const Problem&)> tensors;  ///< inputs and outputs
  /// See Template::inputs; empty: all are random.
  std::function<std::vector<HostTensor>(const Problem&, std::uint64_t seed)> inputs = {};
  std::function<double(const Problem&)> operations;        ///< see Template::operations
  std::function<std::string(const Problem&)> unit = {};    ///< see Template::unit
  std::function<double(const Problem&)> input_bytes = {};  ///< see Template::input_bytes
  /// The strategy for a problem, by the parameters of the configuration that are given. Throws Error(refused)
  /// where the target has no instruction that it needs. It must live as long as the process.
  std::function<const TypedStrategy<Problem, Config>&(const Specs&, const Target&, const Problem&,
                                                      const Settings& given)>
      strategy;
  std::function<std::vector<Expectation>(const Problem&, std::span<const HostTensor>)>
      expect;                    ///< see Template
  std::size_t candidates = 256;  ///< the most that a search is offered first
};

/// The configurations of a strategy that agree with `given` and that its rules allow, the best first.
template <class Problem, class Config>
std::vector<Config> ranked_configs(const TypedStrategy<Problem, Config>& strategy,
                                   std::span<const ConfigParameter<Config>> table,
                                   const ParameterSpace& space, const Target& target, const Problem& problem,
                                   const Settings& given) {
  std::vector<const ConfigParameter<Config>*> rows;
  std::vector<std::vector<std::string>> values;
  std::vector<tune::PrunedSearch::Axis> axes;
  for (const TemplateParameter& parameter : space.config()) {
    const auto row =
        std::ranges::find(table, std::string_view(parameter.name), &ConfigParameter<Config>::name);
    if (row == table.end()) continue;  // `strategy`
    const auto fixed = given.find(parameter.name);
    rows.push_back(&*row);
    values.push_back(fixed == given.end() ? parameter.values : std::vector{fixed->second});
    axes.push_back({parameter.name, values.back().size()});
  }
  tune::PrunedSearch search(axes);
  for (std::size_t i = 0; i < strategy.rules.size(); ++i) search.add_rule(i, strategy.rules[i].reads);
  const tune::CostModel model(target);
  Config config{};
  std::vector<std::pair<std::vector<double>, Config>> found;
  const auto order = [&] {
    return strategy.order ? strategy.order(model, target, problem, config)
                          : std::vector{model.us(strategy.demand(target, problem, config))};
  };
  search.run(
      {.assign = [&](std::size_t axis, std::size_t value) { rows[axis]->read(config, values[axis][value]); },
       .allows = [&](std::size_t rule) { return strategy.rules[rule].allows(target, problem, config); },
       .visit = [&] { found.emplace_back(order(), config); }});
  std::ranges::stable_sort(found, {}, &std::pair<std::vector<double>, Config>::first);
  std::vector<Config> configs;
  for (auto& [numbers, one] : found) configs.push_back(std::move(one));
  return configs;
}

/// The template of a family. Derive from it for what a family does not have, such as Template::product.
template <class Problem, class Config>
class TypedTemplate : public Template {
 public:
  using Strategy = TypedStrategy<Problem, Config>;  ///< a strategy of the family
  using Family = TypedFamily<Problem, Config>;      ///< the parts

  /// Throws Error(usage, "bad-space") for a space that cannot be read, or that has other parameters of the
  /// configuration than the table.
  explicit TypedTemplate(Family family) : family_(std::move(family)), space_(family_.space) {
    std::vector<std::string_view> names;
    for (const ConfigParameter<Config>& row : family_.parameters) names.push_back(row.name);
    space_.require_config(names);
  }

  std::string_view name() const override { return space_.name(); }
  std::string_view space() const override { return family_.space; }
  std::string_view digest() const override { return family_.digest; }

  Settings problem(const Settings& given) const override {
    return family_.problem ? family_.problem(space_, given) : space_.complete(space_.problem(), given);
  }
  std::vector<TensorPlan> tensors(const Settings& problem) const override {
    return family_.tensors(Problem(problem));
  }
  std::vector<HostTensor> inputs(const Settings& problem, std::uint64_t seed) const override {
    return family_.inputs ? family_.inputs(Problem(problem), seed) : Template::inputs(problem, seed);
  }
  double operations(const Settings& problem) const override { return family_.operations(Problem(problem)); }
  std::string unit(const Settings& problem) const override {
    return family_.unit ? family_.unit(Problem(problem)) : std::string();
  }
  double input_bytes(const Settings& problem) const override {
    return family_.input_bytes ? family_.input_bytes(Problem(problem)) : 0;
  }

  Settings config(const Specs& specs, const Target& target, const Settings& problem,
                  const Settings& given) const override {
    const Problem p(problem);
    const Settings wanted = space_.complete(space_.config(), given);
    const Strategy& strategy = family_.strategy(specs, target, p, wanted);
    const std::vector<Config> ranked =
        ranked_configs(strategy, family_.parameters, space_, target, p, wanted);
    if (!ranked.empty()) return printed(strategy, ranked.front());
    const std::string_view rule =
        rule_broken_by<Problem, Config>(wanted, strategy.rules, target, p, read(wanted));
    const auto fits = [&](const Settings& some) {
      return !ranked_configs(family_.strategy(specs, target, p, some), family_.parameters, space_, target, p,
                             some)
                  .empty();
    };
    throw space_.no_configuration(wanted, target,
                                  rule.empty() ? admissible_without(wanted, fits) : std::string(rule));
  }

  std::vector<Settings> candidates(const Specs& specs, const Target& target, const Settings& problem,
                                   const Settings& given) const override {
    const Problem p(problem);
    const Settings wanted = space_.complete(space_.config(), given);
    const Strategy& strategy = family_.strategy(specs, target, p, wanted);
    std::vector<Config> ranked = ranked_configs(strategy, family_.parameters, space_, target, p, wanted);
    ranked.resize(std::min(ranked.size(), family_.candidates));
    std::vector<Settings> list;
    for (const Config& config : ranked) list.push_back(printed(strategy, config));
    return list;
  }

  tune::Space tuning_space(const Specs& specs, const Target& target, const Settings& problem) const override {
    const auto p = std::make_shared<const Problem>(problem);
    const Strategy& strategy = family_.strategy(specs, target, *p, {});
    tune::Space result;
    for (const TemplateParameter& parameter : space_.config())
      result.parameters.push_back(
          {parameter.name, parameter.name == kStrategy ? std::vector{strategy.name} : parameter.values});
    for (const ConfigRule<Problem, Config>& rule : strategy.rules)
      result.rules.push_back({rule.says, rule.reads, [this, p, target, &rule](const Settings& settings) {
                                return rule.allows(target, *p, read(settings));
                              }});
    result.demand = [this, p, target, &strategy](const Settings& settings) {
      return strategy.demand(target, *p, read(settings));
    };
    return result;
  }

  Emitted emit(std::shared_ptr<const Specs> specs, const Target& target, const Settings& problem,
               const Settings& config) const override {
    const Problem p(problem);
    const Config c = read(config);
    const Strategy& strategy = family_.strategy(*specs, target, p, config);
    if (const std::string_view rule = broken_rule<Problem, Config>(strategy.rules, target, p, c);
        !rule.empty())
      throw space_.inadmissible(rule);
    return strategy.emit(std::move(specs), target, p, c);
  }

  std::vector<Expectation> expect(const Settings& problem,
                                  std::span<const HostTensor> inputs) const override {
    return family_.expect(Problem(problem), inputs);
  }

 private:
  static constexpr std::string_view kStrategy = "strategy";  // ParameterSpace::require_config knows it, too

  Config read(const Settings& settings) const {
    Config config{};
    read_parameters(family_.parameters, settings, config);
    return config;
  }
  Settings printed(const Strategy& strategy, const Config& config) const {
    Settings settings = print_parameters(family_.parameters, config);
    if (!strategy.name.empty()) settings[std::string(kStrategy)] = strategy.name;
    return settings;
  }

  Family family_;
  ParameterSpace space_;
};

}  // namespace ptxloom
