// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ptxloom/log.hpp"
#include "ptxloom/specs.hpp"
#include "ptxloom/target.hpp"

// The tool: one file per subcommand. Each add_X declares the options of `ptxloom X` and sets the action for
// when X is chosen; nothing runs, and no library object is made, before all options have been validated. Data
// goes to stdout, everything else to stderr. Exit codes are those of ErrorKind, 0, and 130 after Ctrl-C.
namespace ptxloom::cli {

/// What all subcommands share.
struct Tool {
  CLI::App app{"Generates, checks, links, runs and tunes PTX kernels from instruction specs", "ptxloom"};
  std::vector<std::filesystem::path> spec_folders;  ///< --specs, after those of PTXLOOM_SPECS
  bool verbose = false;                             ///< -v
  std::function<int()> action;

  /// Declares a subcommand with options `Options`; `run` gets them once they are parsed.
  template <typename Options>
  CLI::App& command(const std::string& name, const std::string& does,
                    std::function<void(CLI::App&, Options&)> declare,
                    std::function<int(const Tool&, const Options&)> run) {
    CLI::App* command = app.add_subcommand(name, does);
    auto options = std::make_shared<Options>();
    declare(*command, *options);
    command->fallthrough();
    command->callback([this, options, run = std::move(run)] {
      action = [this, options, run] { return run(*this, *options); };
    });
    return *command;
  }

  std::shared_ptr<const Specs> specs() const;
  /// With -v it logs everything, for example every warning instead of one line per kind.
  Log log() const;
};

/// As configured by PTXLOOM_LOG; by default, warnings go to stderr.
Log tool_log();

void add_doctor(Tool& tool);
void add_list(Tool& tool);
void add_show(Tool& tool);
void add_check(Tool& tool);
void add_emit(Tool& tool);
void add_compile(Tool& tool);
void add_layout(Tool& tool);
void add_run(Tool& tool);
void add_sanitize(Tool& tool);
void add_tune(Tool& tool);
void add_bench(Tool& tool);
void add_conform(Tool& tool);
void add_cache(Tool& tool);
void add_sass(Tool& tool);
void add_peak(Tool& tool);
void add_report(Tool& tool);

}  // namespace ptxloom::cli
