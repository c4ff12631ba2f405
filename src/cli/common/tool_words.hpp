// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ptxloom::cli {

/// Rephrases a hint of the library, which addresses a program, for the command line.
std::string in_tool_words(std::string hint);

}  // namespace ptxloom::cli
