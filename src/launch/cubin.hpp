// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace ptxloom::launch {

/// The driver gets a cubin's address but not its size, so a truncated one would crash it. Returns what is
/// wrong with these bytes as an ELF file, nullopt if nothing.
std::optional<std::string> damage_of_cubin(std::span<const std::byte> bytes);

}  // namespace ptxloom::launch
