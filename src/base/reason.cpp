// SPDX-License-Identifier: Apache-2.0
#include "base/reason.hpp"

#include <new>
#include <stdexcept>
#include <system_error>

namespace ptxloom {

std::string reason_of(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ||
      dynamic_cast<const std::length_error*>(&exception) != nullptr)  // a container larger than any memory
    return "out of memory";
  if (const auto* refusal = dynamic_cast<const std::system_error*>(&exception))
    return refusal->code().message();
  return exception.what();
}

}  // namespace ptxloom
