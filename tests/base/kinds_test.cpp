// SPDX-License-Identifier: Apache-2.0
#include "base/kinds.hpp"

#include <catch2/catch_test_macros.hpp>

namespace ptxloom {

TEST_CASE("a line stands for each kind of finding, with the first and how many there are") {
  const std::vector<Diagnostic> found = {
      {.severity = Severity::warning,
       .code = "odd",
       .message = "one",
       .hint = "mend it",
       .line = 3,
       .column = 5},
      {.severity = Severity::warning, .code = "even", .message = "two\nlines"},
      {.severity = Severity::warning, .code = "odd", .message = "three", .line = 1, .column = 1},
      {.severity = Severity::error, .code = "odd", .message = "four", .line = 9}};
  CHECK(one_line_a_kind(found) == std::vector<std::string>{"3:5: warning: one [odd] (first of 2)",
                                                           "warning: two lines [even]",
                                                           "9: error: four [odd]"});
  CHECK(one_line_a_kind(found, "k.ptx") ==
        std::vector<std::string>{"k.ptx:3:5: warning: one [odd] (first of 2)",
                                 "k.ptx: warning: two lines [even]", "k.ptx:9: error: four [odd]"});
  CHECK(one_line_a_kind({}).empty());
}

}  // namespace ptxloom
