// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/run/run.hpp"
#include "ptxloom/exec.hpp"

// The output of `run`: a table or, with --json, one object (docs/json/run.json) with what ran, how it ended
// and the executor's counts; for --trace also a line on stderr for each step, as text or JSON
// (docs/json/trace.json).
namespace ptxloom::cli {

/// The time before the first launch, in milliseconds.
struct FirstLaunch {
  double device = 0;   ///< the driver's initialisation
  double context = 0;  ///< creating the context, without that
  double kernel = 0;   ///< finding its configuration, emitting, linking or reading the cache, loading
};

struct RunReport {
  double run_ms = 0;
  bool ok = true;
  std::optional<FirstLaunch> first_launch = {};           ///< for a template
  std::span<const Diagnostic> warnings = {};              ///< from check and the linker
  std::vector<std::pair<std::string, std::string>> rows;  ///< labels and values
};

/// Prints the report, and the counts if --stats requests them.
void print_report(const Context& context, const RunFlags& flags, const RunReport& report,
                  const exec::Stats& stats);

exec::Trace trace_to_stderr(bool json);
/// For what threads print while stdout has JSON.
void print_to_stderr(const exec::Printed& printed);
/// Parses --trace=WARPS: "0", "0,2-3"; "1@5" or "1@5,0,2" for the thread block with this index. Throws
/// Error(usage, "bad-warps").
decltype(exec::Launch::traced) parse_warps(const std::string& text);

}  // namespace ptxloom::cli
