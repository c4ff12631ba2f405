// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Other programs: where they are, and what they print.
namespace ptxloom {

/// The folders that an environment variable such as PATH names.
std::vector<std::filesystem::path> folders_in(const char* variable);

/// A program on PATH.
std::optional<std::filesystem::path> find_on_path(std::string_view name);

struct Ended {
  bool success = false;  ///< it exited with 0
  std::string output;    ///< stdout and stderr, or why it could not be started
};
/// Runs a program to its end, without input. What takes longer than the limit is killed, and `output` says
/// so; 0: there is none.
Ended run_program(const std::filesystem::path& program, std::vector<std::string> arguments,
                  std::chrono::milliseconds limit = {});

}  // namespace ptxloom
