// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <string>
#include <vector>

#include "cli/tool.hpp"

// Whatever people get wrong: a message that says what is wrong and what to do, the documented exit code, no
// crash.
namespace ptxloom::test {

/// The subcommand on a small gemm.
inline std::vector<std::string> on_gemm(const std::string& command, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {command, "gemm", "--set", "m=8", "--set", "n=8", "--set", "k=8"});
  return more;
}

/// Exit code, stable code, and words that the message must have; and nothing on stdout.
inline void check_refused(const std::vector<std::string>& arguments, int code, const std::string& stable,
                          const std::vector<std::string>& words,
                          const std::map<std::string, std::string>& environment = {}) {
  const ToolResult result = run_tool(arguments, environment);
  CAPTURE(arguments, result.err);
  CHECK(result.code == code);
  CHECK(result.out.empty());
  CHECK(result.err.find("[" + stable + "]") != std::string::npos);
  for (const std::string& word : words) CHECK(result.err.find(word) != std::string::npos);
}

}  // namespace ptxloom::test
