// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// Why warps did not issue, as Nsight Compute measured it.
namespace ptxloom::cli {

struct MeasuredStalls {
  int launches = 0;
  /// Cycles of a warp for each instruction that it issues, on average over the launches, by the names of
  /// docs/json/report.json: "issued", "scoreboard" ...; "other" is what the issue model does not have.
  std::map<std::string, double> cycles{};
};

/// By kernel, of what `ncu --csv` printed, with `--page raw`, or without it and with the names of the
/// metrics; lines before the table are passed over; `name` is of what is read. Throws Error(usage,
/// "bad-ncu-csv") if there is no table, or no stall reason in it.
std::map<std::string, MeasuredStalls> read_ncu(std::string_view csv, std::string_view name);

struct NcuRun {
  std::string csv{};
  std::string problem{};  ///< why there is nothing; one line
};
/// Runs this program with these arguments under ncu, if it is installed and the first GPU is of this chip.
NcuRun run_ncu(const std::vector<std::string>& arguments, int chip);

}  // namespace ptxloom::cli
