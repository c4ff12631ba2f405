// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/error.hpp"

// How the tool fails: with a message on stderr and, if a format for programs was requested, one document on
// stdout; of JSON, an object (docs/json/error.json).
namespace ptxloom::cli {

/// Whether the arguments request JSON, even if they are otherwise invalid.
bool wants_json(std::span<char* const> arguments);

std::string error_json(const std::vector<Diagnostic>& diagnostics);

/// The document for stdout; empty: there is none.
using FailureDocument = std::function<std::string(const std::vector<Diagnostic>&)>;

/// Reports the failure, with hints phrased for the command line, and returns the exit code.
int report_failure(ErrorKind kind, std::vector<Diagnostic> diagnostics, const FailureDocument& document);

/// Runs `work` and returns its exit code, or that of the exception it throws. No exception leaves this
/// function, and its message does not use the terms of the library that threw it.
int guarded(const FailureDocument& document, int (*work)(int argc, char** argv), int argc, char** argv);

/// From now on an uncaught exception, for example in a thread, is reported and ends the process with exit
/// code 1.
void tell_of_uncaught();

}  // namespace ptxloom::cli
