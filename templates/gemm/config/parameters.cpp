// SPDX-License-Identifier: Apache-2.0
#include "gemm/config/parameters.hpp"

#include <algorithm>
#include <iterator>

#include "gemm/reduction/stream_k_reduction.hpp"

namespace ptxloom::gemm_kernel {
namespace {

std::vector<Parameter> all_parameters() {
  std::vector<Parameter> all(std::begin(kCommonParameters), std::end(kCommonParameters));
  for (const Strategy* strategy : strategies())
    for (Parameter parameter : strategy->parameters()) {
      parameter.strategy = strategy;
      all.push_back(parameter);
    }
  std::ranges::sort(all, {}, &Parameter::name);
  return all;
}

}  // namespace

void read_strategy(Config& c, std::string_view value) { c.strategy = &strategy_named(value); }
std::string print_strategy(const Config& c) { return std::string(c.strategy->name()); }
std::string print_shape(const Config& c) { return c.shape; }

bool stream_k_may_pay(const Target& target, const Problem& p, std::span<const Strategy* const>) {
  return may_stream_k(target.info(), p);
}
bool swap_may_pay(const Target&, const Problem&, std::span<const Strategy* const> available) {
  return std::ranges::any_of(available, &Strategy::can_swap);
}

std::span<const Parameter> parameters() {
  static const std::vector<Parameter> all = all_parameters();
  return all;
}

const Parameter& parameter_named(std::string_view name) {
  const auto found = std::ranges::lower_bound(parameters(), name, {}, &Parameter::name);
  if (found == parameters().end() || found->name != name)
    throw Error(ErrorKind::usage, "unknown-parameter",
                "gemm: no configuration has a parameter " + std::string(name),
                "space.json lists the parameters that templates/gemm/config/config.hpp and the strategies' "
                "options.hpp have");
  return *found;
}

// In one pass over both lists, because a search reads millions.
void read_parameters(Config& config, const Settings& given) {
  auto next = given.begin();
  for (const Parameter& parameter : parameters()) {
    if (parameter.read == nullptr) continue;
    int order = -1;
    while (next != given.end() && (order = next->first.compare(parameter.name)) < 0) ++next;
    if (next == given.end()) return;
    if (order == 0) parameter.read(config, (next++)->second);
  }
}

Settings print_parameters(const Config& config) {
  Settings settings;
  for (const Parameter& parameter : parameters())
    settings.emplace_hint(settings.end(), parameter.name, parameter.print(config));
  return settings;
}

Config partial_config(const Config& base, const Settings& given) {
  Config c = base;
  for (const Parameter& parameter : parameters())
    if (parameter.partial) c.*parameter.number = *parameter.partial;
  read_parameters(c, given);
  return c;
}

std::vector<int> integers(const ParameterSpace& space, const Settings& given, std::string_view name) {
  if (const auto found = given.find(name); found != given.end()) return {std::stoi(found->second)};
  std::vector<int> values;
  for (const TemplateParameter& parameter : space.config())
    if (parameter.name == name)
      for (const std::string& value : parameter.values) values.push_back(std::stoi(value));
  return values;
}

}  // namespace ptxloom::gemm_kernel
