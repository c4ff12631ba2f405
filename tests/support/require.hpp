// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <string_view>

#include "support/components.hpp"

namespace ptxloom::test {

/// Ends a test whose component is missing: it fails if PTXLOOM_REQUIRE names the component, and is skipped
/// otherwise.
inline void skip_without(std::string_view component, const std::string& why) {
  if (requires_component(component)) FAIL("PTXLOOM_REQUIRE names " << component << ", but " << why);
  SKIP(why);
}

}  // namespace ptxloom::test
