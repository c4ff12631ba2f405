// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/standard_streams.hpp"
#include "cli/command.hpp"
#include "cli/common/did_you_mean.hpp"
#include "cli/common/failure.hpp"
#include "cli/common/say.hpp"
#include "cli/common/usage.hpp"
#include "cli/sanitize/sanitize_report.hpp"
#include "ptxloom/context.hpp"

namespace ptxloom::cli {

std::shared_ptr<const Specs> Tool::specs() const {
  std::vector<std::filesystem::path> folders = spec_folders_from_environment();
  folders.insert(folders.end(), spec_folders.begin(), spec_folders.end());
  return std::make_shared<const Specs>(folders);
}

namespace {

Log to_stderr(LogLevel most) {
  const auto write = [](LogLevel level, std::string_view message) {
    say("ptxloom: {}: {}\n", name(level), message);
  };
  return Log(write, most);
}

}  // namespace

Log tool_log() {
  if (const char* level = std::getenv("PTXLOOM_LOG"); level != nullptr && *level != '\0')
    return Log::from_environment();
  return to_stderr(LogLevel::warning);
}

Log Tool::log() const { return verbose ? to_stderr(LogLevel::info) : tool_log(); }

namespace {

constexpr int kUsage = static_cast<int>(ErrorKind::usage);

void declare_subcommands(Tool& tool) {
  tool.app.set_version_flag("--version", std::string(library_version()));
  tool.app
      .add_option("--specs", tool.spec_folders,
                  "a folder of spec overlays (repeatable; PTXLOOM_SPECS names more)")
      ->allow_extra_args(false)
      ->type_name("DIR");
  tool.app.add_flag("-v,--verbose", tool.verbose, "print every warning, not one line for each code");
  for (const auto add :
       {add_doctor, add_list, add_show, add_check, add_emit, add_compile, add_layout, add_run, add_sanitize,
        add_tune, add_bench, add_conform, add_cache, add_sass, add_peak, add_report}) {
    add(tool);
  }
}

/// CLI11 would report a mistyped subcommand as an unexpected argument.
void check_subcommand(const Tool& tool, const char* word) {
  std::vector<std::string> names;
  for (const CLI::App* command : tool.app.get_subcommands({})) names.push_back(command->get_name());
  if (word[0] == '-' || std::ranges::find(names, word) != names.end()) return;
  throw Error(ErrorKind::usage, "unknown-subcommand", fmt::format("there is no subcommand '{}'", word),
              did_you_mean(word, names) + "ptxloom --help lists them");
}

/// The arguments in CLI11's order, last first. `--set a=1 b=2` stands for `--set a=1 --set b=2`, and likewise
/// for --arg and --symbol, without consuming a positional argument after them.
std::vector<std::string> arguments(int argc, char** argv) {
  std::vector<std::string> list;
  std::string repeated;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool is_value =
        (word[0] != '-' && word.find('=') != std::string::npos) || (repeated == "--arg" && word == "null");
    if (!repeated.empty() && is_value && list.back() != repeated) list.push_back(repeated);
    if (!is_value) repeated = word == "--set" || word == "--arg" || word == "--symbol" ? word : "";
    list.push_back(word);
  }
  std::ranges::reverse(list);
  return list;
}

/// In the format that the arguments request, even if they are otherwise invalid.
FailureDocument failure_document(std::span<char* const> arguments) {
  if (wants_json(arguments)) return error_json;
  const bool sanitizes = arguments.size() > 1 && std::string_view(arguments[1]) == "sanitize";
  return sanitizes ? sanitize_failure_document(arguments.subspan(2)) : nullptr;
}

void print_help(const Tool& tool) { say("{}", tool.app.help()); }

int run(int argc, char** argv) {
  check_environment();
  Tool tool;
  declare_subcommands(tool);
  if (argc < 2) {
    print_help(tool);
    return kUsage;
  }
  try {
    check_subcommand(tool, argv[1]);
    tool.app.parse(arguments(argc, argv));
  } catch (const CLI::Success& success) {  // --help, --version
    return tool.app.exit(success);
  } catch (const CLI::ParseError& error) {
    throw usage_error(tool.app, error);
  }
  refuse_empty_values(tool.app);
  if (tool.action) return tool.action();
  print_help(tool);
  return kUsage;
}

}  // namespace
}  // namespace ptxloom::cli

int main(int argc, char** argv) {
  using namespace ptxloom;
  fill_closed_streams();
  ::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an ordinary error
  cli::tell_of_uncaught();
  const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
  const int code = cli::guarded(cli::failure_document(arguments), cli::run, argc, argv);
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  const std::string reason = errno == 0 ? "" : ": " + std::generic_category().message(errno);
  cli::say("error: cannot write to stdout{} [unwritable-file]\n", reason);
  return cli::kUsage;
}
