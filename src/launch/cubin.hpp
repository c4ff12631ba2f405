// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace ptxloom::launch {

/// The driver is told where a cubin starts and not where it ends, so a truncated one would crash it. What is
/// wrong with these bytes as an ELF file, nullopt if nothing.
std::optional<std::string> damage_of_cubin(std::span<const std::byte> bytes);

}  // namespace ptxloom::launch
