// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ptxloom {

/// The memory of this machine in bytes.
std::uint64_t host_memory_bytes();

}  // namespace ptxloom
