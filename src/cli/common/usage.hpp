// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include "ptxloom/error.hpp"

// Errors in a command line, in the tool's terms.
namespace ptxloom::cli {

/// Converts an error of CLI11. Error(usage, "bad-usage").
Error usage_error(const CLI::App& app, const CLI::ParseError& error);

/// An option with an empty value is usually an unset variable of a script. Throws Error(usage, "bad-usage").
void refuse_empty_values(const CLI::App& app);

/// Checks PTXLOOM_LOG and PTXLOOM_CUDA_PATH; other variables are checked where they are used. Throws
/// Error(usage, "bad-environment").
void check_environment();

}  // namespace ptxloom::cli
