// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/plan.hpp"
#include "ptxloom/target.hpp"

/// \file
/// Rules that a typed configuration must obey. The choice of a configuration, the tuner's search and the
/// check before a kernel is made ask the same rules, and errors quote them.
namespace [[gnu::visibility("default")]] ptxloom {

/// A condition on a configuration.
template <class Problem, class Config>
struct ConfigRule {
  std::string says;  ///< for people: "a vector must have at most 16 bytes of x"
  /// The parameters of the configuration that it reads. A search evaluates it as soon as they have values,
  /// so it must read no others.
  std::vector<std::string> reads;
  /// Whether a configuration meets it. It may rely on the rules that come before it and read no more.
  std::function<bool(const Target&, const Problem&, const Config&)> allows;
};

/// One list of several: rules are easier to find in groups named by what they protect.
template <class Problem, class Config>
std::vector<ConfigRule<Problem, Config>> join_rules(
    std::initializer_list<std::vector<ConfigRule<Problem, Config>>> groups) {
  std::vector<ConfigRule<Problem, Config>> all;
  for (const auto& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

/// What the first rule says that a configuration breaks; empty if it is admissible.
template <class Problem, class Config>
std::string_view broken_rule(std::span<const ConfigRule<Problem, Config>> rules, const Target& target,
                             const Problem& problem, const Config& config) {
  for (const ConfigRule<Problem, Config>& rule : rules)
    if (!rule.allows(target, problem, config)) return rule.says;
  return {};
}

/// What the first rule says that the given parameters break by themselves, whatever the others are; empty if
/// there is none. `config` has the given values.
template <class Problem, class Config>
std::string_view rule_broken_by(const Settings& given, std::span<const ConfigRule<Problem, Config>> rules,
                                const Target& target, const Problem& problem, const Config& config) {
  for (const ConfigRule<Problem, Config>& rule : rules) {
    const bool decided =
        std::ranges::all_of(rule.reads, [&](const std::string& name) { return given.contains(name); });
    if (decided && !rule.allows(target, problem, config)) return rule.says;
  }
  return {};
}

}  // namespace ptxloom
