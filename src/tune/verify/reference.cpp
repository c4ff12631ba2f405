// SPDX-License-Identifier: Apache-2.0
#include "tune/verify/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "ptxloom/error.hpp"

namespace ptxloom::tune {
namespace {

using Point = Expectation::Point;

bool no_value_fits(const Point& a, const Point& b) {
  return a.index == b.index && std::abs(a.value - b.value) > a.tolerance + b.tolerance;
}

}  // namespace

void check_reference(const Expectation& expected) {
  std::vector<Point> sorted;
  const std::vector<Point>* points = &expected.points;
  if (!std::ranges::is_sorted(*points, {}, &Point::index)) {
    sorted = *points;
    std::ranges::sort(sorted, {}, &Point::index);
    points = &sorted;
  }
  const auto found = std::ranges::adjacent_find(*points, no_value_fits);
  if (found == points->end()) return;
  throw Error(
      ErrorKind::usage, "bad-reference",
      fmt::format(
          "the reference expects element {} of tensor {} to be {} and also {}: no candidate can be correct",
          found->index, expected.tensor, found->value, std::next(found)->value),
      "give each element one value");
}

}  // namespace ptxloom::tune
