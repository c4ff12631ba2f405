// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "exec/machine/system_call.hpp"

// Memory that system calls read for a thread: generic addresses, with every bound checked.
namespace ptxloom::exec {

/// An aligned value of 1, 4 or 8 bytes.
std::uint64_t read_value(const SystemCall& call, int lane, std::uint64_t address, std::uint32_t bytes);
/// The characters up to the first 0, and at most `most`.
std::string read_text(const SystemCall& call, int lane, std::uint64_t address,
                      std::size_t most = std::string::npos);

}  // namespace ptxloom::exec
