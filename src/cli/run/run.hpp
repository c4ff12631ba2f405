// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/common/arguments.hpp"
#include "ptxloom/context.hpp"

// `run` takes a template or a PTX file: run.cpp decides which and runs templates, run_file.cpp runs files.
namespace ptxloom::cli {

struct RunFlags {
  std::string what;
  std::vector<std::string> sets;
  std::vector<std::string> args;
  std::string entry;
  std::string grid, block, cluster;
  std::uint32_t smem = 0;
  bool cooperative = false;
  std::vector<std::string> symbols;
  std::optional<std::uint64_t> step_limit;
  std::string device;
  std::string target;  ///< of the executor; empty: its default
  std::uint64_t seed = 0;
  std::string trace;  ///< which warps; "all"; empty: none
  bool must_hit = false;
  bool stats = false, json = false, no_judge = false;
  bool arithmetic = false;       ///< of `sanitize`: as exec::Launch::arithmetic
  exec::Schedule schedule = {};  ///< of the executor
  exec::Reversals* reversals = nullptr;
  bool repeats = false;                ///< a run before has said where it runs
  exec::Print print = {};              ///< where threads print to; empty: stdout
  exec::Findings* findings = nullptr;  ///< of `sanitize`, which prints them instead of the report
};

/// The context for `--device` and `--target`; describes it on stderr.
Context open_device(const Tool& tool, const RunFlags& flags);
/// The options that `run` and `sanitize` share.
void add_launch_options(CLI::App& app, RunFlags& flags);
/// Runs the template or the file. Returns the exit code.
int run_what(const Tool& tool, const RunFlags& flags);
/// `ptx`: what the file, `flags.what`, has.
int run_file(const Context& context, const RunFlags& flags, const std::string& ptx);
/// The observer for `--trace` (written to stderr as it happens), `--stats` and `--no-judge`.
exec::Observer make_observer(const RunFlags& flags, exec::Stats& stats);

}  // namespace ptxloom::cli
