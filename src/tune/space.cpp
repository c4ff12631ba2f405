// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>

#include "ptxloom/error.hpp"
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

}  // namespace

/// Assigns the parameters values one after another. A rule is evaluated at the first depth where everything
/// it reads is known, and prunes all that would follow.
class Admission {
 public:
  Admission(const Space& space, const TargetInfo& chip, const Settings& fixed) : space_(space), chip_(chip) {
    result_.parameters_ = narrowed(space, fixed);
    const std::size_t depth = result_.parameters_.size();
    behind_.assign(depth + 1, 1);
    for (std::size_t i = depth; i > 0; --i)
      behind_[i - 1] = behind_[i] * result_.parameters_[i - 1].values.size();
    result_.configurations_ = behind_[0];
    at_depth_.resize(depth);
    for (std::size_t rule = 0; rule < space.rules.size(); ++rule) {
      at_depth_[depth_of(space.rules[rule])].push_back(rule);
      result_.removed_.push_back({.rule = space.rules[rule].name});
    }
    for (const Limit& limit : kLimits) result_.removed_.push_back({.rule = limit.name});
    point_.resize(depth);
  }

  Admissible run() {
    descend(0);
    return std::move(result_);
  }

 private:
  std::size_t depth_of(const Rule& rule) const {
    std::size_t deepest = 0;
    for (const std::string& name : rule.reads) {
      const auto found = std::ranges::find(result_.parameters_, name, &Parameter::name);
      if (found == result_.parameters_.end())
        bad_space(fmt::format("rule '{}' reads '{}', which is not a parameter", rule.name, name));
      deepest = std::max(deepest, static_cast<std::size_t>(found - result_.parameters_.begin()));
    }
    return rule.reads.empty() ? result_.parameters_.size() - 1 : deepest;
  }

  void descend(std::size_t depth) {
    if (depth == point_.size()) return admit_point();
    const Parameter& parameter = result_.parameters_[depth];
    std::string& word = config_[parameter.name];
    for (std::size_t value = 0; value < parameter.values.size(); ++value) {
      word = parameter.values[value];
      point_[depth] = static_cast<std::uint8_t>(value);
      const auto broken = std::ranges::find_if(
          at_depth_[depth], [&](std::size_t rule) { return !space_.rules[rule].allows(config_); });
      if (broken == at_depth_[depth].end())
        descend(depth + 1);
      else
        result_.removed_[*broken].count += behind_[depth + 1];
    }
    config_.erase(parameter.name);
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
  std::vector<std::uint64_t> behind_;               // configurations below each depth
  std::vector<std::vector<std::size_t>> at_depth_;  // rules to evaluate there
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
