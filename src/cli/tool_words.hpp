// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ptxloom::cli {

/// A hint of the library tells a program what to do; this tells whoever sits at the command line.
std::string in_tool_words(std::string hint);

}  // namespace ptxloom::cli
