// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "spec/database.hpp"
#include "spec/select.hpp"

namespace ptxloom {
namespace {
}  // namespace

Diagnostic Specs::explain(std::string_view opcode, const Target& target) const {
  (void)target;
  return {.code = "no-variant", .message = "there is no instruction " + std::string(opcode), .hint = {}};
}

}  // namespace ptxloom
