// SPDX-License-Identifier: Apache-2.0
#include "base/json_depth.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>

using namespace ptxloom;

TEST_CASE("brackets are counted where they nest, and not in strings") {
  const std::string most(kDeepestJson, '['), least(kDeepestJson, ']');
  CHECK(!is_nested_too_deeply(most + least));
  CHECK(is_nested_too_deeply("{" + most + least + "}"));
  CHECK(is_nested_too_deeply(most + "{"));
  CHECK(!is_nested_too_deeply(most + least + "," + most + least));
  CHECK(!is_nested_too_deeply("\"" + most + "[[[{{{\""));
  CHECK(!is_nested_too_deeply(most + R"("\"[[[" )" + least));
  CHECK(is_nested_too_deeply(most + R"("\\"[)"));
  CHECK(!is_nested_too_deeply(""));
}
