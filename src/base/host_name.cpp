// SPDX-License-Identifier: Apache-2.0
#include "base/host_name.hpp"

#include <unistd.h>

#include <array>

namespace ptxloom {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "host";
}

}  // namespace ptxloom
