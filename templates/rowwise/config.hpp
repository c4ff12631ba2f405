// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "ptxloom/config_parameter.hpp"
#include "ptxloom/config_rule.hpp"
#include "ptxloom/kit/rows.hpp"
#include "ptxloom/tuning_space.hpp"
#include "rowwise/problem.hpp"

// The configuration as typed data: how a row is divided among threads.
namespace ptxloom::rowwise_kernel {

enum class TeamKind { warp, block, cluster };
inline constexpr std::string_view kTeamKinds[] = {"warp", "block", "cluster"};

struct Config {
  TeamKind kind = TeamKind::warp;
  int lanes = 32, threads = 128, blocks = 1;
  int vector = 1, elements = 1;

  kit::Team team() const;
  kit::RowShape shape(const Problem& problem) const;
  /// Slots of a thread that are in registers at once, and whether they are the whole row.
  ///@{
  int slots(const Problem& problem) const;
  bool keeps_row(const Problem& problem) const;
  ///@}
  /// Teams of a thread block; 1 for larger teams.
  int teams_per_block() const { return kind == TeamKind::warp ? threads / lanes : 1; }
  /// Thread blocks of the grid.
  std::uint64_t grid(const Problem& problem) const;
};

/// A new parameter is a field, a row here and one in space.json.
inline constexpr ConfigParameter<Config> kParameters[] = {
    parameter::choice<kTeamKinds, &Config::kind>("team"), parameter::number<&Config::lanes>("lanes"),
    parameter::number<&Config::threads>("threads"),       parameter::number<&Config::blocks>("blocks"),
    parameter::number<&Config::vector>("vector"),         parameter::number<&Config::elements>("elements"),
};

using Rule = ConfigRule<Problem, Config>;
std::vector<Rule> rules();

/// Registers of a thread, estimated.
int estimated_registers(const Problem& problem, const Config& config);
/// Thread blocks that an SM holds at once; the kernel is linked for that.
int resident_blocks(const TargetInfo& chip, const Problem& problem, const Config& config);
tune::Demand demand_of(const Target& target, const Problem& problem, const Config& config);

}  // namespace ptxloom::rowwise_kernel
