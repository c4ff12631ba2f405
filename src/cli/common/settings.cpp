// SPDX-License-Identifier: Apache-2.0
#include "cli/common/settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <random>

#include "ptxloom/templates.hpp"

namespace ptxloom::cli {

Task parse_task(const std::string& kernel_template, const std::vector<std::string>& sets) {
  return parse_task(Templates::from_environment().find(kernel_template), sets);
}

Task parse_task(const Template& kernel_template, const std::vector<std::string>& sets) {
  Task task{.kernel_template = &kernel_template, .settings = {}};
  Settings words;
  for (const std::string& set : sets) {
    const std::size_t equals = set.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw Error(ErrorKind::usage, "bad-set", fmt::format("--set {}: this is not NAME=VALUE", set),
                  "write --set m=64");
    }
    if (!words.emplace(set.substr(0, equals), set.substr(equals + 1)).second) {
      throw Error(ErrorKind::usage, "bad-set",
                  fmt::format("--set {}: '{}' is set twice", set, set.substr(0, equals)), "set it once");
    }
  }
  task.settings = ParameterSpace(task.kernel_template->space()).split(words);
  return task;
}

std::string to_words(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

std::array<std::uint32_t, 3> parse_extent(std::string_view option, std::string_view text) {
  std::array<std::uint32_t, 3> extent{1, 1, 1};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto [stop, error] = std::from_chars(at, end, extent[axis]);
    if (error != std::errc() || extent[axis] == 0) break;
    if (stop == end) return extent;
    if (*stop != ',') break;
    at = stop + 1;
  }
  throw Error(ErrorKind::usage, "bad-extent", fmt::format("{} {}: this is not x, x,y or x,y,z", option, text),
              "give one to three integers from 1 to 4294967295, such as 128,1,1");
}

std::uint64_t fresh_seed() { return std::random_device()(); }

}  // namespace ptxloom::cli
