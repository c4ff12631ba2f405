// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ptxloom/error.hpp"

// How the tool ends where it cannot do what it is asked for: on stderr in words and, where JSON was asked
// for, on stdout as one object (docs/json/error.json).
namespace ptxloom::cli {

/// Do the arguments ask for JSON? Also where they are not understood otherwise.
bool wants_json(std::span<char* const> arguments);

std::string error_json(const std::vector<Diagnostic>& diagnostics);

/// Says it, with hints in the tool's words, and returns the exit code.
int report_failure(ErrorKind kind, std::vector<Diagnostic> diagnostics, bool json);

/// Runs what may throw anything and returns its exit code, or that of what it has thrown: no exception leaves
/// it, and none speaks in the words of the library that has thrown it.
int guarded(bool json, int (*work)(int argc, char** argv), int argc, char** argv);

/// From now on what nobody catches, as in a thread, is told and ends the process with exit code 1.
void tell_of_uncaught();

}  // namespace ptxloom::cli
