// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/error.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "ptxloom/log.hpp"
#include "support/environment.hpp"

using namespace ptxloom;

TEST_CASE("a diagnostic prints its place, severity, message, code and hint") {
  const Diagnostic full{.severity = Severity::warning,
                        .code = "odd-shape",
                        .message = "the shape is odd",
                        .hint = "round it",
                        .line = 3,
                        .column = 14};
  CHECK(to_string(full) == "3:14: warning: the shape is odd [odd-shape]\n  round it");
  CHECK(to_string({.code = "c", .message = "m", .hint = "", .line = 7}) == "7: error: m [c]");
  CHECK(to_string({.code = "", .message = "m", .hint = ""}) == "error: m");
}

TEST_CASE("an error says all of its diagnostics") {
  const Error error(ErrorKind::refused, {{.code = "a", .message = "first", .hint = ""},
                                         {.code = "b", .message = "second", .hint = "do this"}});
  CHECK(std::string(error.what()) == "error: first [a]\nerror: second [b]\n  do this");
  CHECK(error.kind() == ErrorKind::refused);
  CHECK(error.diagnostics().size() == 2);
  CHECK(std::string(Error(ErrorKind::usage, "c", "m", "h").what()) == "error: m [c]\n  h");
}

TEST_CASE("a log passes on what its level lets through, and nothing by default") {
  std::vector<std::string> lines;
  const Log log(
      [&](LogLevel level, std::string_view text) {
        lines.push_back(std::string(name(level)) + ' ' + std::string(text));
      },
      LogLevel::warning);
  log(LogLevel::error, "one");
  log(LogLevel::warning, "two");
  log(LogLevel::info, "three");
  CHECK(lines == std::vector<std::string>{"error one", "warning two"});
  CHECK_FALSE(Log().enabled(LogLevel::error));
  CHECK_FALSE(Log(LogCallback()).enabled(LogLevel::error));
}

TEST_CASE("PTXLOOM_LOG names the level") {
  const ScopedVariable level("PTXLOOM_LOG", "info");
  CHECK(Log::from_environment().enabled(LogLevel::info));
  CHECK_FALSE(Log::from_environment().enabled(LogLevel::debug));
  const ScopedVariable off("PTXLOOM_LOG", "off");
  CHECK_FALSE(Log::from_environment().enabled(LogLevel::error));
  const ScopedVariable none("PTXLOOM_LOG", std::nullopt);
  CHECK(Log::from_environment().enabled(LogLevel::warning));
  CHECK_FALSE(Log::from_environment().enabled(LogLevel::info));
}
