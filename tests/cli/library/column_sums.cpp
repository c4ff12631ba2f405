// SPDX-License-Identifier: Apache-2.0
// A template library for the tool's tests: a template of two launches, which clear memory.
#include "ptxloom/space.hpp"
#include "ptxloom/templates.hpp"
#include "support/small_templates.hpp"

namespace {

constexpr std::string_view kSpace = R"({
  "template": "column_sums",
  "doc": "y = the sums of the columns of x",
  "problem": [
    {"name": "rows", "kind": "size", "doc": "rows of x"},
    {"name": "n", "kind": "size", "doc": "columns of x"}
  ],
  "config": [{"name": "fault", "values": "none|y_not_cleared", "default": "none", "doc": "what is wrong"}]
})";

class Sums final : public ptxloom::test::ColumnSums {
 public:
  std::string_view space() const override { return kSpace; }
};

const ptxloom::Template& sums() {
  static const Sums instance;
  return instance;
}

}  // namespace

PTXLOOM_TEMPLATE_LIBRARY(&sums())
