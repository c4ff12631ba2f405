// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ptxloom::api {

/// For the tensors of one run, in bytes together. The system would grant the memory and end the process when
/// it is used. Throws Error(usage, "too-large").
void check_host_memory(std::uint64_t bytes);

}  // namespace ptxloom::api
