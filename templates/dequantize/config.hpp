// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dequantize/problem.hpp"
#include "ptxloom/kit/rows.hpp"
#include "ptxloom/target.hpp"
#include "ptxloom/tuning_space.hpp"

// The configuration as typed data: how rows are divided among threads. The lanes of a team work on a part of
// a row; a chunk of `vector` adjacent elements belongs to one lane and has one scale.
namespace ptxloom::dequantize_kernel {

struct Config {
  int lanes = 32, threads = 128;
  int vector = 1, elements = 1;

  /// Sets a parameter by its name and value.
  void set(std::string_view name, std::string_view value);
  kit::Team team() const { return kit::Team::part_of_warp(lanes); }
  /// The row in chunks that begin with it.
  kit::RowShape shape(const Problem& problem) const;
  /// Chunks of a thread, and parts of a row.
  ///@{
  int slots(const Problem& problem) const;
  int parts(const Problem& problem) const;
  ///@}
  /// Parts of all rows, and the thread blocks that work on them.
  ///@{
  std::uint64_t items(const Problem& problem) const;
  std::uint64_t grid(const Problem& problem) const;
  ///@}
};

/// Parameters that are left out keep their defaults.
Config read_config(const Settings& words);
Settings words_of(const Config& config);

/// A condition on a configuration; it is for people, too.
struct Rule {
  std::string_view says;
  std::vector<std::string> reads;
  bool (*allows)(const Target&, const Problem&, const Config&);
};
const std::vector<Rule>& rules();
/// The rule that a configuration breaks; empty if it is admissible.
std::string_view inadmissible(const Target& target, const Problem& problem, const Config& config);

/// Registers of a thread, estimated.
int estimated_registers(const Problem& problem, const Config& config);
tune::Demand demand_of(const Problem& problem, const Config& config);

/// The admissible configurations that agree with `given`, the fastest by estimate first.
std::vector<Config> ranked_configs(const ParameterSpace& space, const Target& target, const Problem& problem,
                                   const Settings& given);

}  // namespace ptxloom::dequantize_kernel
