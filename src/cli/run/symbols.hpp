// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ptxloom/kernel.hpp"

namespace ptxloom::cli {

/// `run --symbol NAME=FILE`: initialises variables of the kernel's module from files, .npy or raw. Throws
/// Error(usage): "bad-symbol", "unknown-variable", "variable-size".
void write_symbols(const Kernel& kernel, const std::vector<std::string>& symbols);

}  // namespace ptxloom::cli
