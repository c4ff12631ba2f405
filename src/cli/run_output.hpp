// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/run.hpp"
#include "ptxloom/exec.hpp"

// What `run` prints: a table or, with --json, one object (docs/json/run.json) of what ran and how it ended
// and of the executor's counts; and for --trace a line on stderr for each step, as text or JSON
// (docs/json/trace.json).
namespace ptxloom::cli {

/// What lies before the first launch, in milliseconds.
struct FirstLaunch {
  double device = 0;   ///< the driver's own start
  double context = 0;  ///< making the context, without that
  double kernel = 0;   ///< finding its configuration, emitting, linking or the cache's answer, loading
};

struct RunReport {
  double run_ms = 0;
  bool ok = true;
  std::optional<FirstLaunch> first_launch = {};           ///< of a template
  std::span<const Diagnostic> warnings = {};              ///< of check and linker
  std::vector<std::pair<std::string, std::string>> rows;  ///< words and what they say
};

/// Prints the report, and the counts where --stats asks for them.
void print_report(const Context& context, const RunFlags& flags, const RunReport& report,
                  const exec::Stats& stats);

exec::Trace trace_to_stderr(bool json);
/// Of --trace=WARPS: "0", "0,2-3"; "1@5" or "1@5,0,2" of the block with this index. Throws Error(usage,
/// "bad-warps").
decltype(exec::Launch::traced) parse_warps(const std::string& text);

}  // namespace ptxloom::cli
