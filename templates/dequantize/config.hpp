// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "dequantize/problem.hpp"
#include "ptxloom/config_parameter.hpp"
#include "ptxloom/config_rule.hpp"
#include "ptxloom/kit/rows.hpp"
#include "ptxloom/tuning_space.hpp"

// The configuration as typed data: how rows are divided among threads. The lanes of a team work on a part of
// a row; a chunk of `vector` adjacent elements belongs to one lane and has one scale.
namespace ptxloom::dequantize_kernel {

struct Config {
  int lanes = 32, threads = 128;
  int vector = 1, elements = 1;

  kit::Team team() const { return kit::Team::part_of_warp(lanes); }
  /// The row in chunks, which begin with it or where x is aligned.
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

/// A new parameter is a field, a row here and one in space.json.
inline constexpr ConfigParameter<Config> kParameters[] = {
    parameter::number<&Config::lanes>("lanes"),
    parameter::number<&Config::threads>("threads"),
    parameter::number<&Config::vector>("vector"),
    parameter::number<&Config::elements>("elements"),
};

using Rule = ConfigRule<Problem, Config>;
std::vector<Rule> rules();

/// Registers of a thread, estimated.
int estimated_registers(const Problem& problem, const Config& config);
tune::Demand demand_of(const Target& target, const Problem& problem, const Config& config);

}  // namespace ptxloom::dequantize_kernel
