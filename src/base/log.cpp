// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/log.hpp"

#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/standard_streams.hpp"

namespace ptxloom {
namespace {

constexpr std::array kLevels = {LogLevel::error, LogLevel::warning, LogLevel::info, LogLevel::debug};

void write_line(LogLevel level, std::string_view message) {
  // A single call, so that lines of several threads do not mix.
  write_to_stderr("ptxloom: " + std::string(name(level)) + ": " + std::string(message) + '\n');
}

}  // namespace

std::string_view name(LogLevel level) {
  switch (level) {
    case LogLevel::error:
      return "error";
    case LogLevel::warning:
      return "warning";
    case LogLevel::info:
      return "info";
    case LogLevel::debug:
      return "debug";
  }
  return "error";
}

Log::Log(LogCallback callback, LogLevel most)
    : callback_(callback ? std::make_shared<const LogCallback>(std::move(callback)) : nullptr), most_(most) {}

Log Log::from_environment() {
  const char* wanted = std::getenv("PTXLOOM_LOG");
  if (!stderr_is_open()) return {};  // the next file that is opened would get the lines
  if (wanted == nullptr || *wanted == '\0') return Log(write_line, LogLevel::warning);
  if (std::string_view(wanted) == "off") return {};
  for (const LogLevel level : kLevels) {
    if (name(level) == wanted) return Log(write_line, level);
  }
  Log log(write_line, LogLevel::warning);
  log(LogLevel::warning,
      "PTXLOOM_LOG=" + std::string(wanted) + " is not one of off, error, warning, info, debug");
  return log;
}

}  // namespace ptxloom
