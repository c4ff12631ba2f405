// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <vector>

#include "bench/templates/scaled_gemm_cases.hpp"

// The command line of scaled_gemm_h200, which opens with what it takes.
namespace ptxloom::bench {

struct ScaledOptions {
  double seconds = 500;  ///< no case is begun after so many
  double budget = 0;     ///< seconds of search for each kernel of ours
  std::string records;   ///< a file
  Settings more;         ///< parameters of all problems of scaled_gemm
  std::vector<ScaledCase> cases;
};

[[noreturn]] inline void refuse_options(const std::string& why) {
  throw Error(ErrorKind::usage, "bad-usage", why, "the file of the benchmark opens with its options");
}

inline double seconds_of(const std::string& option, const std::string& text) {
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc() || stop != end || !(seconds >= 0))
    refuse_options(fmt::format("{} {} is not a number of seconds", option, text));
  return seconds;
}

inline void add_parameter(Settings& more, const std::string& word) {
  const std::size_t end = word.find('=');
  if (end == 0 || end == std::string::npos) refuse_options(fmt::format("--set {} is not NAME=VALUE", word));
  more[word.substr(0, end)] = word.substr(end + 1);
}

/// Refuses parameters that a case or the benchmark determines.
inline void check_parameters(const ScaledOptions& options) {
  const Settings of_case = scaled_problem(options.cases.front(), "", false, {});
  for (const auto& [name, value] : options.more)
    if (of_case.contains(name))
      refuse_options(
          fmt::format("--set {}={} cannot be used: the benchmark sets {} itself", name, value, name));
}

inline void set_option(ScaledOptions& options, const std::string& name, const std::string& value) {
  if (name == "--seconds")
    options.seconds = seconds_of(name, value);
  else if (name == "--budget")
    options.budget = seconds_of(name, value);
  else if (name == "--records")
    options.records = value;
  else if (name == "--set")
    add_parameter(options.more, value);
  else
    refuse_options(fmt::format("there is no option {}", name));
}

inline ScaledOptions read_options(const std::vector<std::string>& words) {
  ScaledOptions options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      options.cases.push_back(scaled_case(words[i]));
      continue;
    }
    if (i + 1 == words.size()) refuse_options(fmt::format("{} needs a value", words[i]));
    set_option(options, words[i], words[i + 1]);
    ++i;
  }
  if (!options.more.empty() && !options.records.empty())
    refuse_options("--set and --records exclude each other");
  if (options.cases.empty()) options.cases = all_scaled_cases();
  check_parameters(options);
  return options;
}

}  // namespace ptxloom::bench
