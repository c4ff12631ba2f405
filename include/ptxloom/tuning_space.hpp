// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/plan.hpp"
#include "ptxloom/target.hpp"

// What may be tuned, as data: parameters with their values, rules that say which configurations are
// admissible, and what a configuration asks of the chip. All of it is decided before anything is compiled.
namespace [[gnu::visibility("default")]] ptxloom {
namespace tune {

/// A word of the configuration and the values it may take. Where all of them are numbers they are taken for
/// points on a scale: near ones are expected to behave alike.
struct Parameter {
  std::string name;
  std::vector<std::string> values;
};

/// A condition on a configuration. It is asked as soon as the parameters it reads have values, whatever the
/// others may be, so a large space is cut early; `allows` must look at no others.
struct Rule {
  std::string name;                ///< what people are told: "stages fit into shared memory"
  std::vector<std::string> reads;  ///< parameters
  std::function<bool(const Settings&)> allows;
};

/// What a configuration asks of an SM, and of the chip in all. 0 is "not known": it removes nothing and the
/// model leaves it out.
struct Demand {
  int threads = 0;                 ///< of a block
  int registers = 0;               ///< of a thread, estimated
  std::uint64_t shared_bytes = 0;  ///< of a block, static and dynamic
  int cluster = 1;                 ///< blocks of a cluster
  std::uint64_t blocks = 0;        ///< of the grid

  std::string unit = {};      ///< column of "rates" in specs/targets.json that the operations go to: "f16"
  double operations = 0;      ///< of all blocks, padding included
  double dram_bytes = 0;      ///< that must cross to or from device memory
  double l2_bytes = 0;        ///< moved between L2 and the SMs, by all blocks
  double shared_traffic = 0;  ///< bytes moved between shared memory and registers, by all blocks
  std::uint64_t steps = 0;    ///< of a block one after the other, each waiting for data
  int in_flight = 1;          ///< steps whose data are on their way at once
};

struct Space {
  std::vector<Parameter> parameters;
  std::vector<Rule> rules = {};
  std::function<Demand(const Settings&)> demand = {};  ///< may be empty: nothing is known
};

/// The configurations that no rule removes, compactly: the admissible part of a space may have 10^5.
class Admissible {
 public:
  struct Removed {
    std::string rule;
    std::uint64_t count = 0;  ///< configurations it removed; each counts for the first rule it breaks
  };

  std::size_t size() const { return demands_.size(); }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// The place of each parameter's value in its list.
  std::span<const std::uint8_t> point(std::size_t index) const {
    return std::span(points_).subspan(index * parameters_.size(), parameters_.size());
  }
  Settings settings(std::size_t index) const;
  const Demand& demand(std::size_t index) const { return demands_[index]; }
  std::uint64_t configurations() const { return configurations_; }  ///< admissible or not
  const std::vector<Removed>& removed() const { return removed_; }
  /// The place of a configuration; size() where it is none of them.
  std::size_t find(const Settings& config) const;
  /// These of them, in this order.
  Admissible only(std::span<const std::size_t> indices) const;
  /// `count` of them, drawn by the seed, in their order.
  Admissible sample(std::size_t count, std::uint64_t seed) const;

 private:
  friend class Admission;
  std::vector<Parameter> parameters_;
  std::vector<std::uint8_t> points_;
  std::vector<Demand> demands_;
  std::uint64_t configurations_ = 0;
  std::vector<Removed> removed_;
};

/// The configurations of a space that agree with the words in `fixed` ("64|128": one of these), obey its
/// rules, and whose demand the chip can meet ("threads of a block", "registers of a thread", "registers of a
/// block", "shared memory of a block", "blocks of a cluster"). Throws Error(usage, "bad-space") for a space
/// without parameters, with one that has no values or more than 255, or a rule that reads what is no
/// parameter; Error(usage, "unknown-parameter" or "bad-value") for words that the space does not have;
/// Error(refused, "no-configuration") where nothing is left, which says what each rule removed.
Admissible admit(const Space& space, const Target& target, const Settings& fixed = {});

}  // namespace tune
}  // namespace ptxloom
