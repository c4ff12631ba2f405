// SPDX-License-Identifier: Apache-2.0
#include "api/host_memory.hpp"

#include <fmt/format.h>

#include "base/host_memory.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::api {

void check_host_memory(std::uint64_t bytes) {
  const std::uint64_t whole = host_memory_bytes();
  if (bytes < whole / 3) return;  // each tensor has a copy on the device and one to compare with
  throw Error(
      ErrorKind::usage, "too-large",
      fmt::format("the tensors take {} MiB, but this machine has {} MiB of memory", bytes >> 20, whole >> 20),
      "use smaller sizes");
}

}  // namespace ptxloom::api
