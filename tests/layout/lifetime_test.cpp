// SPDX-License-Identifier: Apache-2.0
// A layout is used when the variant and the specs that it was made from are gone.
#include <catch2/catch_test_macros.hpp>
#include <optional>

#include "ptxloom/layout.hpp"
#include "support/overlay.hpp"

namespace ptxloom {
namespace {

TEST_CASE("a layout outlives its specs") {
  const test::ProbeOverlay overlay;
  std::optional<Specs> specs(std::in_place, overlay.folders());
  std::optional<Variant> variant = specs->match("probe.f24").front();
  const Layout map = layout(*variant, "D");
  variant.reset();
  specs.reset();

  CHECK(map.type.name == "g16");
  CHECK(map.rows == 16);
  CHECK(map.cols == 8);
  const Layout copy = map;
  CHECK(copy.find(9, 3) == LayoutElement{.lane = 5, .reg = 1, .bit = 16, .row = 9, .col = 3});
}

}  // namespace
}  // namespace ptxloom
