// SPDX-License-Identifier: Apache-2.0
// scaled_gemm of floats of 8, 6 and 4 bits without scales of blocks.
#include <array>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "scaled_gemm/textbook.hpp"

namespace ptxloom::scaled_gemm_test::textbook {

using Catch::Matchers::ContainsSubstring;
using test::shape;
using test::with;

TEST_CASE("scaled_gemm: floats of 8, 6 and 4 bits with scales of rows and columns, of tensors, or none") {
  constexpr std::array kFormats = {"e4m3", "e5m2", "e2m3", "e3m2", "e2m1"};
  constexpr std::array kGroups = {"row", "tensor", "none"};
  std::size_t number = 0;
  for (const char* a : kFormats)
    for (const char* b : kFormats) {
      const Settings formats{{"format_a", a}, {"format_b", b}, {"d", "f32"}, {"group", kGroups[number % 3]}};
      run(with(shape(21, 37, 336), formats));
      run(with(shape(21, 37, 144), formats), {}, {}, std::array{"sm_80", "sm_90a"}[number++ % 2]);
    }
  run(with(shape(1, 1, 1), {{"format_a", "e4m3"}}));
  run(with(shape(33, 75, 301), {{"format_a", "e5m2"}, {"lda", "305"}, {"d", "f16"}}));
  run(with(shape(70, 131, 272), {{"format_a", "e2m1"}, {"format_b", "e3m2"}, {"lda", "304"}}),
      {{"tile_m", "64"}, {"tile_n", "32"}, {"warps_m", "4"}, {"warps_n", "2"}, {"stages", "4"}});
  const Settings experts{{"format_a", "e4m3"}, {"format_b", "e2m1"}, {"batch", "3"},
                         {"swiglu", "yes"},    {"bias", "f32"},      {"row_weights", "yes"}};
  for (const char* group : kGroups) {
    const RunResult result = run_template(
        executor(), scaled_gemm(),
        {.problem = with(with(shape(19, 48, 96), experts), {{"group", group}}), .seed = Catch::getSeed()});
    CHECK(result.verdict.first.empty());
    CHECK(result.verdict.ok());
  }
  const Specs specs;
  const auto chosen = [&](const Settings& more) {
    return scaled_gemm()
        .config(specs, Target("sm_120a"), scaled_gemm().problem(with(shape(16, 16, 32), more)), {})
        .at("strategy");
  };
  CHECK(chosen({{"format_a", "e5m2"}, {"format_b", "e2m3"}}) == "f8f6f4");
  CHECK_THAT(refusal([&] { chosen({{"format_a", "e5m2"}, {"group", "128"}}); }),
             ContainsSubstring("row, tensor or none"));
  CHECK_THAT(refusal([&] { chosen({{"format_a", "bf16"}, {"format_b", "s4"}, {"group", "tensor"}}); }),
             ContainsSubstring("leave group out"));
}

}  // namespace ptxloom::scaled_gemm_test::textbook
