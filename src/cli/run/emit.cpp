// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/file.hpp"
#include "cli/command.hpp"
#include "cli/common/settings.hpp"
#include "cli/run/launch_header.hpp"
#include "ptxloom/build_words.hpp"
#include "ptxloom/context.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::cli {
namespace {

struct EmitFlags {
  std::string kernel_template;
  std::vector<std::string> sets;
  std::string target;
  std::filesystem::path output;
};

/// The target of the first GPU; sm_90a if there is none.
std::string default_target() {
  try {
    return std::string(devices(Libraries()).at(0).target().name());
  } catch (const Error&) {
    return "sm_90a";
  }
}

/// Describes the kernel: the first line is for `run`, the others are for people who open the file.
std::vector<std::string> header(const Task& task, const Settings& problem, const Settings& config,
                                const Emitted& emitted, const Target& target) {
  return {
      format_launch_header({.launches = emitted.launches, .tensors = task.kernel_template->tensors(problem)}),
      fmt::format("{} {}", task.kernel_template->name(), to_words(problem)),
      fmt::format("configuration {}", to_words(config)),
      fmt::format("target {}, PTX {}, made by ptxloom {}", target.name(), to_string(emitted.module.version),
                  library_version())};
}

int run_emit(const Tool& tool, const EmitFlags& options) {
  const bool to_file = !options.output.empty() && options.output != "-";
  if (to_file) check_writable(options.output);
  const Task task = parse_task(options.kernel_template, options.sets);
  const auto specs = tool.specs();
  const Target target = specs->target(options.target.empty() ? default_target() : options.target);
  const Settings problem = task.kernel_template->problem(task.settings.problem);
  const BuildWords words = split_build_words(task.settings.config);
  Settings config = task.kernel_template->config(*specs, target, problem, words.config);
  Emitted emitted = task.kernel_template->emit(specs, target, problem, config);
  apply_build_words(words.build, emitted.module);
  config.insert(words.build.begin(), words.build.end());
  const std::vector<std::string> lines = header(task, problem, config, emitted, target);
  emitted.module.header.insert(emitted.module.header.begin(), lines.begin(), lines.end());
  const std::string ptx = print(emitted.module);
  if (to_file)
    write_file(options.output, ptx);
  else
    fmt::print("{}", ptx);
  return 0;
}

}  // namespace

void add_emit(Tool& tool) {
  tool.command<EmitFlags>(
      "emit", "print the kernel of a template for a problem, as PTX",
      [](CLI::App& command, EmitFlags& options) {
        command.add_option("template", options.kernel_template, "a template, such as gemm")->required();
        command.add_option("--set", options.sets, "set a parameter of the problem or the configuration")
            ->allow_extra_args(false)
            ->type_name("NAME=VALUE");
        command.add_option("--target", options.target, "target to emit for; default: the GPU's, else sm_90a")
            ->type_name("T");
        command.add_option("-o,--output", options.output, "output file; default: stdout")->type_name("FILE");
      },
      run_emit);
}

}  // namespace ptxloom::cli
