// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "ptxloom/config_parameter.hpp"
#include "ptxloom/config_rule.hpp"
#include "ptxloom/kit/rows.hpp"
#include "ptxloom/tuning_space.hpp"
#include "quantize/problem.hpp"

// The configuration as typed data: how rows are divided among threads. A team of threads works on an item:
// with scales of whole rows this is a row, with blocks a block, else a part of a row. A chunk of `vector`
// adjacent elements belongs to one thread; adjacent lanes have adjacent chunks, so the elements of a group
// are in adjacent lanes.
namespace ptxloom::quantize_kernel {

enum class TeamKind { warp, block };
inline constexpr std::string_view kTeamKinds[] = {"warp", "block"};

struct Config {
  TeamKind kind = TeamKind::warp;
  int lanes = 32, threads = 128;
  int vector = 1, elements = 1;

  kit::Team team() const;
  /// The threads that share a row: the team, or of a block some lanes.
  kit::Team row_team(const Problem& problem) const;
  /// The row in chunks, which begin with it or where x is aligned.
  kit::RowShape shape(const Problem& problem) const;
  /// Chunks of a thread that are in registers at once, and whether they are the whole row.
  ///@{
  int slots(const Problem& problem) const;
  bool keeps_row(const Problem& problem) const;
  ///@}
  /// Parts of a row that are in registers at once, one after the other or by different teams.
  int parts(const Problem& problem) const;
  /// Lanes that have the elements of one group.
  int lanes_per_group(const Problem& problem) const;
  /// Teams of a thread block; 1 for larger teams.
  int teams_per_block() const { return kind == TeamKind::warp ? threads / lanes : 1; }
  /// What the teams of the grid work on, and its thread blocks. The teams of one y work on one part of all
  /// rows if x is transposed: so adjacent teams read adjacent elements. Else y is 1.
  ///@{
  std::uint64_t items(const Problem& problem) const;
  std::uint64_t grid_x(const Problem& problem) const;
  std::uint64_t grid_y(const Problem& problem) const;
  ///@}
};

/// A new parameter is a field, a row here and one in space.json.
inline constexpr ConfigParameter<Config> kParameters[] = {
    parameter::choice<kTeamKinds, &Config::kind>("team"), parameter::number<&Config::lanes>("lanes"),
    parameter::number<&Config::threads>("threads"),       parameter::number<&Config::vector>("vector"),
    parameter::number<&Config::elements>("elements"),
};

using Rule = ConfigRule<Problem, Config>;
std::vector<Rule> rules();

/// Registers of a thread, estimated.
int estimated_registers(const Problem& problem, const Config& config);
tune::Demand demand_of(const Target& target, const Problem& problem, const Config& config);

}  // namespace ptxloom::quantize_kernel
