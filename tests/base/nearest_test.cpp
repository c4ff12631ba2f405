// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.hpp"

#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace ptxloom::nearest_test {
namespace {

/// Straight from the definition: the last characters are equal, or one is replaced, dropped or inserted.
std::size_t by_definition(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.size() + b.size();
  const std::string_view shorter_a = a.substr(0, a.size() - 1), shorter_b = b.substr(0, b.size() - 1);
  const std::size_t replaced = by_definition(shorter_a, shorter_b) + (a.back() == b.back() ? 0 : 1);
  return std::min({replaced, by_definition(shorter_a, b) + 1, by_definition(a, shorter_b) + 1});
}

TEST_CASE("a distance is the number of edits") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "add") == 3);
  CHECK(edit_distance("add", "") == 3);
  CHECK(edit_distance("x", "y") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CAPTURE(Catch::getSeed());
  std::mt19937 random(Catch::getSeed());
  const auto word = [&] {
    std::string text(random() % 6, ' ');
    for (char& c : text) c = static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int i = 0; i < 300; ++i) {
    const std::string a = word(), b = word();
    CAPTURE(a, b);
    CHECK(edit_distance(a, b) == by_definition(a, b));
  }
}

TEST_CASE("the nearest word is the first of those with the fewest edits") {
  const std::vector<std::string> words = {"mul", "sub", "mad", "add", "and"};
  CHECK(nearest("ad", words) == "mad");
  CHECK(nearest("adds", words) == "add");
  CHECK(nearest("sub", words) == "sub");
  CHECK(nearest("", words) == "mul");
  CHECK(nearest("add", {}).empty());
  const std::string start(70, 'x');  // longer than words whose edits are counted in one register
  const std::vector<std::string> starts = {start + "mul", start + "add"};
  CHECK(nearest(start + "ad", starts) == starts[1]);
}

}  // namespace
}  // namespace ptxloom::nearest_test
