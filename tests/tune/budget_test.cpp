// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/tune.hpp"
#include "support/errors.hpp"

using namespace ptxloom;

TEST_CASE("a budget is seconds or evaluations") {
  CHECK(parse_budget("1.5").seconds == 1.5);
  CHECK(parse_budget("200evals").evaluations == 200);
  CHECK(parse_budget("200evals").seconds == 0);
  for (const char* bad : {"", "0", "-1", "1.5evals", "evals", "10s", "1e99"}) {
    CHECK(error_of([&] { parse_budget(bad); }).diagnostics().front().code == "bad-budget");
  }
}
