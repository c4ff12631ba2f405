// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <string_view>

#include "ptxloom/specs.hpp"

namespace ptxloom {

/// The built-in specs.
inline const Specs& specs() {
  static const Specs shared;
  return shared;
}

inline Variant variant(std::string_view opcode) {
  INFO(opcode);
  REQUIRE_FALSE(specs().match(opcode).empty());
  return specs().match(opcode).front();
}

}  // namespace ptxloom
