// SPDX-License-Identifier: Apache-2.0
#include "cli/common/usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/nearest.hpp"
#include "cli/common/say.hpp"
#include "ptxloom/log.hpp"

namespace ptxloom::cli {
namespace {

/// "a,b" as "a, b".
std::string spaced(std::string list) {
  for (std::size_t comma = list.find(','); comma != std::string::npos; comma = list.find(',', comma + 2))
    list.insert(comma + 1, " ");
  return list;
}

/// The subcommand that the arguments name, with its parents: "cache stat".
const CLI::App& innermost(const CLI::App& app, std::string& name) {
  const CLI::App* at = &app;
  name = "ptxloom";
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    name += ' ' + at->get_name();
  }
  return *at;
}

/// "--seed", or the name of a positional argument.
std::string name_of(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name() : "--" + option.get_lnames().front();
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

Error bad_usage(const std::string& what, const std::string& hint) {
  return {ErrorKind::usage, "bad-usage", what, hint};
}

Error unexpected(const CLI::App& command, const std::string& word, const std::string& help) {
  if (!word.starts_with("-") || word == "-")
    return bad_usage(fmt::format("unexpected argument '{}'", word), help);
  const std::string option = word.substr(0, word.find('='));
  const std::string what = fmt::format("there is no option '{}'", option);
  if (option == "--device" && command.get_name() == "sanitize")
    return bad_usage(what, "leave it out: sanitize always runs in the executor, on the CPU");
  return bad_usage(what, fmt::format("did you mean {}? {}", nearest(option, option_names(command)), help));
}

std::string joined(const std::vector<const CLI::App*>& commands) {
  std::string names;
  for (const CLI::App* command : commands) names += (names.empty() ? "" : ", ") + command->get_name();
  return names;
}

/// Of "--warps: Value 99 not in range [1 - 64]", or "... range 1 to 64", as older releases of CLI11 say it.
std::optional<Error> out_of_range(const std::string& said, const std::string& option) {
  constexpr std::string_view kValue = ": Value ", kRange = " not in range ";
  const std::size_t range = said.find(kRange);
  if (range == std::string::npos || !said.substr(option.size()).starts_with(kValue)) return std::nullopt;
  const std::size_t value = option.size() + kValue.size();
  std::string limits = said.substr(range + kRange.size());
  std::erase_if(limits, [](char one) { return one == '[' || one == ']'; });
  if (const std::size_t dash = limits.find(" - "); dash != std::string::npos) limits.replace(dash, 3, " to ");
  return bad_usage(fmt::format("{} does not accept {}", option, said.substr(value, range - value)),
                   "give " + limits);
}

}  // namespace

Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string name;
  const CLI::App& command = innermost(app, name);
  const std::string help = fmt::format("see {} --help", name);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::vector<std::string> words = app.remaining(true);
    if (!words.empty()) return unexpected(command, words.front(), help);
  }
  // CLI11 keeps only its own sentence, in which the option comes first.
  constexpr std::string_view kBefore = "Could not convert: ";
  std::string said = error.what();
  if (said.starts_with(kBefore)) said.erase(0, kBefore.size());
  const std::string option = said.substr(0, said.find_first_of(": "));
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr)
    return bad_usage(fmt::format("{}: {}", name, said), "leave one of them out");
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    if (option != "A") return bad_usage(fmt::format("{}: {} is needed", name, option), help);
    const std::vector<std::string> words = app.remaining(true);
    return bad_usage(words.empty() ? fmt::format("{} needs a subcommand", name)
                                   : fmt::format("{} has no subcommand '{}'", name, words.front()),
                     "give one of " + joined(command.get_subcommands({})));
  }
  const bool known = command.get_option_no_throw(option) != nullptr || option == "--specs";
  if (!known) return bad_usage(fmt::format("{}: cannot parse the arguments", name), help);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (said.find("At Most") != std::string::npos)
      return bad_usage(fmt::format("{} is given more than once", option), "give it once");
    return bad_usage(fmt::format("{} needs a value", option), help);
  }
  if (const std::size_t at = said.find(" not in {");
      at != std::string::npos) {  // "--format: pdf not in {text,json}"
    const std::size_t value = option.size() + 2, values = said.find('{', at) + 1;
    return bad_usage(fmt::format("{} does not accept '{}'", option, said.substr(value, at - value)),
                     "give one of " + spaced(said.substr(values, said.find('}', values) - values)));
  }
  if (const auto outside = out_of_range(said, option)) return *outside;
  return bad_usage(fmt::format("{} does not accept this value", option), help);
}

void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->empty() || option->get_expected_max() == 0) continue;
    if (std::ranges::find(option->results(), "") != option->results().end())
      throw option->get_required()
          ? bad_usage(fmt::format("{} is empty", name_of(*option)), "it must be given")
          : bad_usage(fmt::format("{} is given without a value", name_of(*option)),
                      "give one, or leave it out");
  }
  for (const CLI::App* command : app.get_subcommands()) refuse_empty_values(*command);
}

void check_environment() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  constexpr std::array kLevels = {LogLevel::error, LogLevel::warning, LogLevel::info, LogLevel::debug};
  if (const std::string level = variable("PTXLOOM_LOG");
      !level.empty() && level != "off" &&
      std::ranges::find(kLevels, level, [](LogLevel l) { return name(l); }) == kLevels.end())
    throw Error(ErrorKind::usage, "bad-environment",
                fmt::format("PTXLOOM_LOG has an unknown value, '{}'", level),
                "use off, error, warning, info or debug");
  std::istringstream folders(variable("PTXLOOM_CUDA_PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code failed;
    if (!folder.empty() && !std::filesystem::is_directory(folder, failed))
      say("ptxloom: warning: PTXLOOM_CUDA_PATH: {} is not a folder; looking for NVIDIA's libraries "
          "elsewhere\n",
          folder);
  }
}

}  // namespace ptxloom::cli
