// SPDX-License-Identifier: Apache-2.0
// Which elements of an output are compared.
#include "ptxloom/sampling.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>

namespace ptxloom::sampling_test {

TEST_CASE("all places are sampled where there are few, else one of each part and both ends") {
  std::mt19937_64 random(7);
  CHECK(sampled_places(1, 0, random) == std::vector<std::uint32_t>{0});
  CHECK(sampled_places(5, 9, random) == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
  for (const std::uint32_t extent : {2U, 11U, 1000U, 2147483647U})
    for (const std::uint64_t count : {1U, 3U, 10U}) {
      CAPTURE(extent, count);
      const std::vector<std::uint32_t> places = sampled_places(extent, count, random);
      CHECK(std::ranges::is_sorted(places));
      CHECK((places.front() == 0 && places.back() == extent - 1));
      if (count >= extent) continue;
      REQUIRE(places.size() == count + 2);
      for (std::uint64_t part = 0; part < count; ++part)
        CHECK((places[part + 1] >= part * extent / count && places[part + 1] < (part + 1) * extent / count));
    }
}

TEST_CASE("each tile of 16 x 16 elements is sampled where there are few, and the last element always") {
  std::mt19937_64 random(3);
  for (const auto& [rows, columns] : {std::pair{1U, 1U}, {17U, 33U}, {100U, 16U}, {5U, 200U}}) {
    CAPTURE(rows, columns);
    std::set<std::pair<std::uint64_t, std::uint64_t>> tiles;
    const std::vector<MatrixElement> all = sampled_elements(rows, columns, 1000, random);
    for (const auto& [row, column] : all) {
      CHECK((row < rows && column < columns));
      tiles.insert({row / 16, column / 16});
    }
    CHECK(tiles.size() == ((rows + 15U) / 16) * ((columns + 15U) / 16));
    CHECK((all.back().row == rows - 1 && all.back().column == columns - 1));
    CHECK(sampled_elements(rows, columns, 4, random).size() <= 5);
  }
}

TEST_CASE("padding is listed up to a limit, and it is told whether that is all") {
  std::vector<std::uint64_t> untouched{99};
  CHECK(list_padding(3, 5, 7, untouched));
  CHECK(untouched == std::vector<std::uint64_t>{99, 5, 6, 12, 13, 19, 20});
  CHECK(list_padding(1000, 8, 8, untouched));
  CHECK(untouched.size() == 7);
  CHECK_FALSE(list_padding(2, 4, 100, untouched));  // 96 elements behind each row
  CHECK(untouched.size() == 7 + 2 * 16);
  CHECK_FALSE(list_padding(std::uint64_t{1} << 40, 4, 8, untouched));
  CHECK(untouched.size() < 10000);
}

}  // namespace ptxloom::sampling_test
