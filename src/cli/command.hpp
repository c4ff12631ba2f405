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

// The tool: one file a subcommand. Each add_X declares the options of `ptxloom X` and, when X is what the
// user asks for, sets the action; nothing runs, and nothing of the library is made, before all options are
// known to be good. Data goes to stdout, everything else to stderr. Exit codes are those of ErrorKind, 0, and
// 130 after Ctrl-C.
namespace ptxloom::cli {

/// What all subcommands share.
struct Tool {
  CLI::App app{"Generates, checks, links, runs and tunes PTX kernels from instruction specs", "ptxloom"};
  std::vector<std::filesystem::path> spec_folders;  ///< --specs, after those of PTXLOOM_SPECS
  bool verbose = false;                             ///< -v
  std::function<int()> action;

  /// A subcommand whose options are `Options`; `run` gets them once they are parsed.
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
  /// With -v all there is to say, such as every warning where else a line stands for a kind of them.
  Log log() const;
};

/// As PTXLOOM_LOG says; where it says nothing, warnings go to stderr.
Log tool_log();

void add_doctor(Tool& tool);
void add_list(Tool& tool);
void add_show(Tool& tool);
void add_check(Tool& tool);
void add_emit(Tool& tool);
void add_compile(Tool& tool);
void add_layout(Tool& tool);
void add_run(Tool& tool);
void add_tune(Tool& tool);
void add_bench(Tool& tool);
void add_conform(Tool& tool);
void add_cache(Tool& tool);

}  // namespace ptxloom::cli
