// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "cli/arguments.hpp"
#include "ptxloom/signature.hpp"

// What `--arg` gives a parameter of a kernel, held against the parameter's type. What does not go in is
// refused in one line that names the parameter by its place, its name and its type, and says what would.
namespace ptxloom::cli {

/// The bytes of an argument that is a scalar, an aggregate or null, as many as the parameter has. Throws
/// Error(usage, "argument-type" | "argument-range" | "argument-size").
std::vector<std::byte> value_bytes(const KernelSignature& kernel, std::size_t index,
                                   const RunArgument& argument);
/// Throws Error(usage, "argument-type") unless the parameter can hold an address.
void require_pointer(const KernelSignature& kernel, std::size_t index, const RunArgument& argument);

}  // namespace ptxloom::cli
