// SPDX-License-Identifier: Apache-2.0
#include "base/host_memory.hpp"

#include <unistd.h>

namespace ptxloom {

std::uint64_t host_memory_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace ptxloom
