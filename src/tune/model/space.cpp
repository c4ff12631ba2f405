// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>

#include "ptxloom/error.hpp"
#include "ptxloom/pruned_search.hpp"
#include "ptxloom/tuning_space.hpp"

namespace ptxloom::tune {
namespace {

struct Limit {
  const char* name;
  bool (*met)(const Demand&, const TargetInfo&);
};

constexpr int kThreads = 1024;   // per thread block, on every chip
constexpr int kRegisters = 255;  // per thread, on every chip
constexpr int kCluster = 16;     // thread blocks per cluster, with the opt-in
constexpr int kClusterSince = 90;
constexpr int kRegisterUnit = 8;  // registers are allocated to a thread in multiples of this

constexpr Limit kLimits[] = {
    {"threads of a thread block", [](const Demand& d, const TargetInfo&) { return d.threads <= kThreads; }},
    {"registers of a thread", [](const Demand& d, const TargetInfo&) { return d.registers <= kRegisters; }},
    {"registers of a thread block",
     [](const Demand& d, const TargetInfo& chip) {
       const int dealt = (d.registers + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
       return dealt * d.threads <= chip.registers_per_sm;
     }},
    {"shared memory of a thread block",
     [](const Demand& d, const TargetInfo& chip) {
       return d.shared_bytes <= static_cast<std::uint64_t>(chip.shared_per_block);
     }},
    {"thread blocks of a cluster",
     [](const Demand& d, const TargetInfo& chip) {
       return d.cluster <= (chip.number >= kClusterSince ? kCluster : 1);
     }},
};

[[noreturn]] void bad_space(std::string message) {
  throw Error(ErrorKind::usage, "bad-space", std::move(message),
              "give each parameter at least one value, and use names of parameters in rules");
}

/// "64|128"
std::vector<std::string> split(const std::string& words) {
  std::vector<std::string> values;
  std::istringstream stream(words);
  for (std::string value; std::getline(stream, value, '|');) values.push_back(value);
  return values;
}

/// Rejects names and values that the space does not have.
void check_words(const Space& space, const Settings& fixed) {
  for (const auto& [name, words] : fixed) {
    const auto parameter = std::ranges::find(space.parameters, name, &Parameter::name);
    if (parameter == space.parameters.end()) {
      std::vector<std::string> names;
      for (const Parameter& known : space.parameters) names.push_back(known.name);
      throw Error(ErrorKind::usage, "unknown-parameter", fmt::format("there is no parameter '{}'", name),
                  fmt::format("there are {}", fmt::join(names, ", ")));
    }
    for (const std::string& value : split(words)) {
      if (std::ranges::find(parameter->values, value) != parameter->values.end()) continue;
      throw Error(ErrorKind::usage, "bad-value", fmt::format("{}={} is not in the space", name, value),
                  fmt::format("its values are {}", fmt::join(parameter->values, ", ")));
    }
  }
}

/// The remaining values of each parameter.
std::vector<Parameter> narrowed(const Space& space, const Settings& fixed) {
  if (space.parameters.empty()) bad_space("the space has no parameters");
  check_words(space, fixed);
  std::vector<Parameter> parameters = space.parameters;
  for (Parameter& parameter : parameters) {
    if (parameter.values.empty()) bad_space(fmt::format("parameter {} has no values", parameter.name));
    if (parameter.values.size() > std::numeric_limits<std::uint8_t>::max())
      bad_space(fmt::format("parameter {} has more than 255 values", parameter.name));
    if (const auto word = fixed.find(parameter.name); word != fixed.end())
      parameter.values = split(word->second);
  }
  return parameters;
}

/// The search over the parameters. Throws for a rule that reads anything else.
PrunedSearch search_of(const Space& space, const std::vector<Parameter>& parameters) {
  std::vector<PrunedSearch::Axis> axes;
  for (const Parameter& parameter : parameters) axes.push_back({parameter.name, parameter.values.size()});
  PrunedSearch search(axes);
  for (std::size_t i = 0; i < space.rules.size(); ++i) {
    const Rule& rule = space.rules[i];
    for (const std::string& name : rule.reads)
      if (std::ranges::find(parameters, name, &Parameter::name) == parameters.end())
        bad_space(fmt::format("rule '{}' reads '{}', which is not a parameter", rule.name, name));
    // A rule that reads nothing is a limit of whole configurations.
    search.add_rule(i, rule.reads.empty() ? std::vector{parameters.back().name} : rule.reads);
  }
  return search;
}

}  // namespace

/// Collects the configurations that the rules and the chip's limits admit.
class Admission {
 public:
  Admission(const Space& space, const TargetInfo& chip, const Settings& fixed) : space_(space), chip_(chip) {
    result_.parameters_ = narrowed(space, fixed);
    for (const Rule& rule : space.rules) result_.removed_.push_back({.rule = rule.name});
    for (const Limit& limit : kLimits) result_.removed_.push_back({.rule = limit.name});
    point_.resize(result_.parameters_.size());
  }

  Admissible run() {
    const PrunedSearch search = search_of(space_, result_.parameters_);
    result_.configurations_ = search.combinations();
    search.run({.assign = [this](std::size_t axis, std::size_t value) { assign(axis, value); },
                .allows = [this](std::size_t rule) { return space_.rules[rule].allows(config_); },
                .visit = [this] { admit_point(); },
                .removed = [this](std::size_t rule,
                                  std::uint64_t count) { result_.removed_[rule].count += count; }});
    return std::move(result_);
  }

 private:
  void assign(std::size_t axis, std::size_t value) {
    // A rule sees no value of the parameters that follow.
    for (std::size_t later = axis + 1; later < depth_; ++later)
      config_.erase(result_.parameters_[later].name);
    depth_ = axis + 1;
    const Parameter& parameter = result_.parameters_[axis];
    config_[parameter.name] = parameter.values[value];
    point_[axis] = static_cast<std::uint8_t>(value);
  }

  void admit_point() {
    const Demand demand = space_.demand ? space_.demand(config_) : Demand();
    for (std::size_t i = 0; i < std::size(kLimits); ++i) {
      if (kLimits[i].met(demand, chip_)) continue;
      ++result_.removed_[space_.rules.size() + i].count;
      return;
    }
    result_.points_.insert(result_.points_.end(), point_.begin(), point_.end());
    result_.demands_.push_back(demand);
  }

  const Space& space_;
  const TargetInfo& chip_;
  Admissible result_;
  std::size_t depth_ = 0;  // parameters that have values
  std::vector<std::uint8_t> point_;
  Settings config_;
};

Settings Admissible::settings(std::size_t index) const {
  Settings config;
  const auto values = point(index);
  for (std::size_t i = 0; i < values.size(); ++i)
    config.emplace(parameters_[i].name, parameters_[i].values[values[i]]);
  return config;
}

std::size_t Admissible::find(const Settings& config) const {
  std::vector<std::uint8_t> wanted;
  for (const Parameter& parameter : parameters_) {
    const auto word = config.find(parameter.name);
    if (word == config.end()) return size();
    const auto value = std::ranges::find(parameter.values, word->second);
    if (value == parameter.values.end()) return size();
    wanted.push_back(static_cast<std::uint8_t>(value - parameter.values.begin()));
  }
  for (std::size_t i = 0; i < size(); ++i) {
    if (std::ranges::equal(point(i), wanted)) return i;
  }
  return size();
}

Admissible Admissible::only(std::span<const std::size_t> indices) const {
  Admissible part{*this};
  part.points_.clear();
  part.demands_.clear();
  for (const std::size_t index : indices) {
    const auto values = point(index);
    part.points_.insert(part.points_.end(), values.begin(), values.end());
    part.demands_.push_back(demands_[index]);
  }
  return part;
}

Admissible Admissible::sample(std::size_t count, std::uint64_t seed) const {
  std::vector<std::size_t> all(size()), drawn;
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::ranges::sample(all, std::back_inserter(drawn), static_cast<std::ptrdiff_t>(std::min(count, size())),
                      std::mt19937_64(seed));
  return only(drawn);
}

Admissible admit(const Space& space, const Target& target, const Settings& fixed) {
  Admissible result = Admission(space, target.info(), fixed).run();
  if (result.size() != 0) return result;
  std::string why;
  for (const auto& [rule, count] : result.removed()) {
    if (count != 0) why += fmt::format("{}{}: {}", why.empty() ? "removed by " : ", ", rule, count);
  }
  throw Error(ErrorKind::refused, "no-configuration",
              fmt::format("none of the {} configurations is admissible on {}", result.configurations(),
                          target.name()),
              why);
}

}  // namespace ptxloom::tune
