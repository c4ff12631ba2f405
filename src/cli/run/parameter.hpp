// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "cli/common/arguments.hpp"
#include "ptxloom/signature.hpp"

// Checks the value that `--arg` gives a kernel parameter against its type. An error is one line that names
// the parameter by position, name and type, and says what would be accepted.
namespace ptxloom::cli {

/// The bytes of a scalar, an aggregate or null, as many as the parameter has. Throws Error(usage,
/// "argument-type" | "argument-range" | "argument-size").
std::vector<std::byte> value_bytes(const KernelSignature& kernel, std::size_t index,
                                   const RunArgument& argument);
/// Throws Error(usage, "argument-type") unless the parameter can hold an address.
void require_pointer(const KernelSignature& kernel, std::size_t index, const RunArgument& argument);

}  // namespace ptxloom::cli
