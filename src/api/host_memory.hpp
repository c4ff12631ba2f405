// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ptxloom::api {

/// Checks the total bytes of the tensors of one run. The system would grant the memory, and kill the process
/// when it is used. Throws Error(usage, "too-large").
void check_host_memory(std::uint64_t bytes);

}  // namespace ptxloom::api
