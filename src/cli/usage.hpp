// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include "ptxloom/error.hpp"

// What is wrong with a command line, in the tool's words.
namespace ptxloom::cli {

/// For what CLI11 says of the arguments. Error(usage, "bad-usage").
Error usage_error(const CLI::App& app, const CLI::ParseError& error);

/// An option without text is mostly a variable of a script that is not set. Throws Error(usage, "bad-usage").
void refuse_empty_values(const CLI::App& app);

/// Of PTXLOOM_LOG and PTXLOOM_CUDA_PATH; the others are looked at where they are used. Throws Error(usage,
/// "bad-environment").
void check_environment();

}  // namespace ptxloom::cli
