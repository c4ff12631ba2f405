// SPDX-License-Identifier: Apache-2.0
// The settings of a matrix of narrow elements: what follows from them, and what does not go together.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "ptxloom/error.hpp"
#include "ptxloom/kit/scaled_matrix.hpp"
#include "support/settings.hpp"

using namespace ptxloom;
using namespace ptxloom::kit;
using Catch::Matchers::ContainsSubstring;

namespace {

const Settings kPlain = {{"rows", "130"}, {"n", "200"}, {"packing", "dense"}, {"scale_layout", "plain"}};

ScaledMatrix matrix(const Settings& more) {
  Settings words = test::with(kPlain, more);
  complete_scaled_matrix(words, "mine");
  return ScaledMatrix(words);
}

std::string refusal(const Settings& more) {
  try {
    matrix(more);
  } catch (const Error& error) {
    CHECK(error.code() == "bad-value");
    return error.what();
  }
  return "it was accepted";
}

}  // namespace

TEST_CASE("a scaled matrix knows how many scales it has") {
  const ScaledMatrix by_row = matrix({{"format", "s8"}});
  CHECK(by_row.scales == Scales::row);
  CHECK(by_row.scales_per_row() == 1);
  CHECK(by_row.scale_rows() == 130);

  const ScaledMatrix groups = matrix({{"format", "s4"}, {"scales", "group"}, {"group", "64"}});
  CHECK(groups.scales_per_row() == 4);  // the last one of 8 elements
  CHECK(groups.scale_rows() == 130);
  CHECK(matrix({{"format", "s4"}, {"scales", "group"}}).group == 128);

  const ScaledMatrix blocks = matrix({{"format", "e4m3"}, {"scales", "block"}});
  CHECK(blocks.scales_per_row() == 2);
  CHECK(blocks.scale_rows() == 2);

  const ScaledMatrix mx =
      matrix({{"format", "mxfp6_e2m3"}, {"packing", "padded"}, {"scale_layout", "tiles"}});
  CHECK(mx.scales == Scales::group);
  CHECK(mx.scales_per_row() == 7);
  CHECK(mx.stored_element() == b8);
  CHECK(mx.tiles().shape() == ScaleTiles{130, 7}.shape());
  CHECK(matrix({{"format", "nvfp4"}}).scales_per_row() == 13);
}

TEST_CASE("a scaled matrix refuses settings that do not go together, in the template's name") {
  CHECK_THAT(refusal({{"format", "mxfp4"}, {"scales", "row"}}),
             ContainsSubstring("mine: scales=row cannot be used with format=mxfp4"));
  CHECK_THAT(refusal({{"format", "nvfp4"}, {"group", "32"}}), ContainsSubstring("group=16"));
  CHECK_THAT(refusal({{"format", "s8"}, {"scales", "row"}, {"group", "32"}}),
             ContainsSubstring("scales=group"));
  CHECK_THAT(refusal({{"format", "mxfp4"}, {"packing", "padded"}}), ContainsSubstring("packing=dense"));
  CHECK_THAT(refusal({{"format", "e5m2"}, {"scale_layout", "tiles"}}), ContainsSubstring("8 bits"));
}

TEST_CASE("a scaled matrix has at most 2^30 elements in a row and 2^44 in all") {
  const auto refused = [](const char* n, std::uint64_t rows, const char* pitch) {
    try {
      check_scaled_size(test::with(kPlain, {{"n", n}, {"pitch", pitch}}), "mine", rows, "pitch");
    } catch (const Error& error) {
      return error.code() == "shape-too-large";
    }
    return false;
  };
  CHECK_FALSE(refused("1073741824", 1, "1073741824"));
  CHECK(refused("1073741825", 1, "1073741825"));
  CHECK_FALSE(refused("1", std::uint64_t{1} << 24, "1048576"));
  CHECK(refused("1", (std::uint64_t{1} << 24) + 1, "1048576"));
}
