// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "sass/issue/issue_table.hpp"
#include "sass/issue/loops.hpp"

// The issue of a loop's instructions, cycle by cycle, as the control codes and the units allow it. Each
// scheduler issues one instruction a cycle at most, of a warp whose stall count is over, whose scoreboards
// are open and whose units are free. A warp issues in order. Data of loads is always there after the latency
// of the table.
namespace ptxloom::sass {

/// A register that an instruction reads, for the banks of the register file.
struct IssueRead {
  unsigned slot = 0;  ///< of the operand
  RegisterId id = 0;
  RegisterId first = 0;  ///< of the operand's registers
};

/// An instruction of the loop.
struct IssueOp {
  std::size_t step = 0;  ///< its number in the function
  ControlCode control{};
  const IssueRow* row = nullptr;  ///< null: the table does not have it, and it occupies nothing
  std::vector<double> cycles{};   ///< of each use of the row
  double latency = 0, read = 0, hold = 0;
  double fixed = 0;  ///< cycles until any instruction can read its results of fixed latency
  std::vector<IssueRead> reads{};
  bool taken = false;       ///< it branches to the next one
  bool ends_group = false;  ///< a wgmma that ends a group
  unsigned remain = 0;      ///< of drain and group_wait: how many may stay in flight
  unsigned board = 0;       ///< of drain
};

/// Why a warp did not issue, in cycles of all warps.
enum class StallReason : std::uint8_t { stall_count, scoreboard, unit, registers, barrier, not_selected };
inline constexpr std::size_t kStallReasons = 6;
inline constexpr std::size_t kNoOp = static_cast<std::size_t>(-1);

/// An instruction at its unit, in one iteration of the first warp.
struct IssueEvent {
  std::size_t op = 0, unit = 0;
  int warp = 0;
  double begin = 0, end = 0;  ///< cycles from the beginning of the iteration
};

struct SimOptions {
  int warps = 1;        ///< of an SM
  int block_warps = 1;  ///< of a thread block, which wait for each other at barriers
  bool units = true;    ///< false: as if there were any number of units and register banks
  /// Iterations of the two runs whose difference counts, as in a measurement: the warps of one make so many
  /// more.
  int few = 8, more = 24;
};

struct SimResult {
  double cycles = 0;      ///< in which every warp makes an iteration; 0: they wait for each other for ever
  double run_cycles = 0;  ///< of the longer run, until all work is done
  std::array<double, kStallReasons> stalls{};  ///< of an iteration of a warp, on average
  double issued = 0;                           ///< cycles of an iteration of a warp in which it issues
  std::vector<double> waits{};                 ///< for each op: cycles that warps waited for its results
  std::vector<IssueEvent> events{};  ///< of the first scheduler, in one iteration; if many, of its first warp
  double event_cycles = 0;           ///< how long that took
};

SimResult simulate(const IssueTable& table, const std::vector<IssueOp>& ops, const SimOptions& options);

}  // namespace ptxloom::sass
