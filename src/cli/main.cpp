// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "base/nearest.hpp"
#include "cli/command.hpp"
#include "ptxloom/context.hpp"

namespace ptxloom::cli {

std::shared_ptr<const Specs> Tool::specs() const {
  std::vector<std::filesystem::path> folders = spec_folders_from_environment();
  folders.insert(folders.end(), spec_folders.begin(), spec_folders.end());
  return std::make_shared<const Specs>(folders);
}

Log tool_log() {
  if (std::getenv("PTXLOOM_LOG") != nullptr) return Log::from_environment();
  const auto write = [](LogLevel level, std::string_view message) {
    fmt::print(stderr, "ptxloom: {}: {}\n", name(level), message);
  };
  return Log(write, LogLevel::warning);
}

namespace {

constexpr int kUsage = static_cast<int>(ErrorKind::usage);

void declare(Tool& tool) {
  tool.app.set_version_flag("--version", std::string(library_version()));
  tool.app
      .add_option("--specs", tool.spec_folders,
                  "folder of spec overlays (repeatable; PTXLOOM_SPECS holds more)")
      ->allow_extra_args(false)
      ->type_name("DIR");
  for (const auto add : {add_doctor, add_list, add_show, add_check, add_emit, add_compile, add_layout,
                         add_run, add_tune, add_bench, add_conform, add_cache}) {
    add(tool);
  }
}

/// CLI11 would call a mistyped subcommand an unexpected argument.
void check_subcommand(const Tool& tool, const char* word) {
  std::vector<std::string> names;
  for (const CLI::App* command : tool.app.get_subcommands({})) names.push_back(command->get_name());
  if (word[0] == '-' || std::ranges::find(names, word) != names.end()) return;
  throw Error(ErrorKind::usage, "unknown-subcommand", fmt::format("there is no subcommand '{}'", word),
              fmt::format("did you mean '{}'? ptxloom --help lists them", nearest(word, names)));
}

/// The arguments, last first as CLI11 takes them. `--set a=1 b=2` stands for `--set a=1 --set b=2`, and --arg
/// likewise, without swallowing a positional argument behind them.
std::vector<std::string> arguments(int argc, char** argv) {
  std::vector<std::string> list;
  std::string repeated;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool is_value = word[0] != '-' && word.find('=') != std::string::npos;
    if (!repeated.empty() && is_value && list.back() != repeated) list.push_back(repeated);
    if (!is_value) repeated = word == "--set" || word == "--arg" ? word : "";
    list.push_back(word);
  }
  std::ranges::reverse(list);
  return list;
}

int run(int argc, char** argv) {
  Tool tool;
  declare(tool);
  if (argc < 2) {
    fmt::print(stderr, "{}", tool.app.help());
    return kUsage;
  }
  try {
    check_subcommand(tool, argv[1]);
    tool.app.parse(arguments(argc, argv));
    if (tool.action) return tool.action();
    fmt::print(stderr, "{}", tool.app.help());
    return kUsage;
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;  // --help, --version
    tool.app.exit(error);
    return asked ? 0 : kUsage;
  }
}

}  // namespace
}  // namespace ptxloom::cli

int main(int argc, char** argv) {
  int code = 0;
  try {
    code = ptxloom::cli::run(argc, argv);
  } catch (const ptxloom::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    code = static_cast<int>(error.kind());
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    code = ptxloom::cli::kUsage;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    fmt::print(stderr, "error: standard output could not be written [unwritable-file]\n");
    return ptxloom::cli::kUsage;
  }
  return code;
}
