// SPDX-License-Identifier: Apache-2.0
// scaled_gemm with activations of 8 bits and sums=plain in the executor: the tensor cores accumulate all of
// k.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "scaled_gemm/weight_case.hpp"
#include "support/truncated_sum.hpp"

namespace ptxloom::scaled_gemm_test::plain_sums {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::Range;
using test::shape;
using test::truncated_sum;
using test::with;

Settings plain(const char* a, const char* b) {
  Settings made{{"format_a", a}, {"format_b", b}, {"d", "f32"}, {"sums", "plain"}};
  if (b[0] == 's' || b[0] == 'u') made["group"] = "row";
  return made;
}

const Settings kAll[] = {
    plain("e4m3", "s4"),    plain("e4m3", "u4"), plain("e4m3", "mxfp4"), plain("e4m3", "mxfp6_e3m2"),
    plain("e4m3", "nvfp4"), plain("s8", "s4"),   plain("s8", "u4")};

/// Elements of D in rows that belong to a group.
std::size_t computed_elements(const RunResult& result) {
  const auto size = [&](const char* name) { return std::stoull(result.kernel.problem.at(name)); };
  const bool masked = result.kernel.problem.at("groups") == "masked";
  const auto groups =
      std::ranges::find(result.tensors, masked ? "group_rows" : "group_of_rows",
                        [](const HostTensor& tensor) { return std::string_view(tensor.plan.name); });
  std::size_t rows = 0;
  for (const double value : test::narrow::values(s32, groups->bytes))
    if (masked)
      rows += static_cast<std::size_t>(std::clamp(value, 0.0, double(size("m"))));
    else
      rows += value >= 0 && value < double(size("batch")) ? 128U : 0U;
  return rows * size("n");
}

/// Such a D of a problem with rows of A as given.
Verdict verdict_of(Case& one, const std::vector<std::vector<double>>& a, std::size_t parts,
                   std::size_t at_once, Range left_out = {}) {
  const std::size_t n = one.size("n"), k = one.size("k");
  HostTensor d = poisoned_tensor(one.plan("d"));
  for (std::size_t column = 0; column < n; ++column) {
    std::vector<double> b;
    for (std::size_t i = 0; i < k; ++i) b.push_back(one.weight(column, i));
    for (std::size_t row = 0; row < a.size(); ++row) {
      const auto value =
          static_cast<float>(one.row_scale(row) * truncated_sum(a[row], b, parts, left_out, at_once));
      std::memcpy(d.bytes.data() + (row * n + column) * sizeof value, &value, sizeof value);
    }
  }
  return verify(scaled_gemm().expect(one.problem(), one.inputs()).at(0), d);
}

/// Sets A to random values of e4m3 from `least` to 1, and returns them.
std::vector<std::vector<double>> draw_activations(Case& one, double least) {
  std::mt19937_64 random(Catch::getSeed());
  std::uniform_real_distribution<double> uniform(least, 1);
  std::vector<std::vector<double>> rows(one.size("m"));
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t k = 0; k < one.size("k"); ++k) {
      rows[row].push_back(test::narrow::decode(e4m3, test::narrow::encode(e4m3, uniform(random))));
      one.set_activation(row, k, rows[row].back());
    }
  return rows;
}

}  // namespace

TEST_CASE("scaled_gemm, plain sums: 13 bits of long sums are enough, and a k-block that is left out is not") {
  INFO("seed " << Catch::getSeed());
  std::mt19937_64 random(Catch::getSeed());
  for (const char* weights : {"s4", "nvfp4"})
    for (const int k : {160, 1024, 8192}) {
      Case one(with(shape(5, 70, k), plain("e4m3", weights)));
      const auto a = draw_activations(one, -1);
      for (const std::size_t parts : {1U, 4U, 5U})
        for (const std::size_t at_once : {16U, 32U}) {
          if (static_cast<std::size_t>(k) / 32 % parts != 0) continue;
          const Verdict whole = verdict_of(one, a, parts, at_once);
          INFO(weights << ", k = " << k << " in " << parts << " parts, " << at_once
                       << " products at once: " << whole.first);
          CHECK(whole.ok());
          CHECK(whole.checked == 350);
          const std::size_t begin = random() % (static_cast<std::size_t>(k) / 64) * 64;
          INFO("left out from " << begin << " on");
          CHECK(verdict_of(one, a, parts, at_once, {begin, begin + 64}).wrong > 10);
        }
    }
}

TEST_CASE("scaled_gemm, plain sums: what truncation takes of positive sums is accepted") {
  INFO("seed " << Catch::getSeed());
  for (const double least : {0.0, 0.9}) {
    Case one(with(shape(5, 70, 4096), plain("e4m3", "s4")));
    for (std::size_t row = 0; row < 70; ++row)
      for (std::size_t k = 0; k < 4096; ++k) one.set_weight(row, k, static_cast<unsigned>(row % 7 + 1));
    const auto a = draw_activations(one, least);
    for (const std::size_t at_once : {16U, 32U}) {
      const Verdict verdict = verdict_of(one, a, 1, at_once);
      INFO("at least " << least << ", " << at_once << " products at once: " << verdict.first);
      CHECK(verdict.ok());
    }
  }
}

TEST_CASE("scaled_gemm, plain sums: shapes that no tile divides, on targets with and without wgmma") {
  for (const Settings& formats : kAll) {
    Case(with(shape(1, 1, 1), formats)).run();
    Case(with(shape(19, 70, 410), formats)).run();
    Case(with(with(shape(37, 131, 300), formats), {{"d", "bf16"}})).run({}, "sm_89");
  }
  Case(with(shape(19, 70, 410), plain("s8", "s4"))).run({}, "sm_80");
}

TEST_CASE("scaled_gemm, plain sums: warpgroups with two row tiles, clusters and stream-K") {
  for (const Settings& formats : {kAll[0], kAll[2], kAll[6]}) {
    Case(with(with(shape(140, 200, 260), formats), {{"d", "bf16"}}))
        .run({{"tile_m", "96"}, {"tile_n", "256"}, {"tile_k", "64"}, {"warps_n", "8"}});
    Case(with(shape(11, 131, 1030), formats)).run({{"tile_m", "16"}, {"split", "4"}, {"tile_k", "128"}});
    Case(with(shape(11, 131, 1030), formats)).run({{"stream_k", "yes"}});
  }
}

TEST_CASE("scaled_gemm, plain sums: experts have scales of their own") {
  for (const char* groups : {"masked", "contiguous"})
    for (const char* target : {"sm_90a", "sm_89"}) {
      const Settings problem =
          with(with(shape(256, 70, 76), plain("e4m3", "mxfp4")), {{"batch", "3"}, {"groups", groups}});
      INFO("problem " << test::words(problem) << ", target " << target << ", seed " << Catch::getSeed());
      const RunResult result =
          run_template(executor_of(target), scaled_gemm(), {.problem = problem, .seed = Catch::getSeed()});
      CHECK(result.verdict.first.empty());
      CHECK(result.verdict.ok());
      CHECK(result.verdict.checked == computed_elements(result));
    }
}

TEST_CASE("scaled_gemm, plain sums: the largest scale of a column is found in every group") {
  // 70 groups, more than a warp loads at once. One is 2^14 times the others, so that codes 1 of those become
  // the least number of e4m3; one activation of each row is not zero.
  for (const char* target : {"sm_90a", "sm_89"}) {
    Case one(with(shape(16, 70, 2240), plain("e4m3", "mxfp4")));
    for (std::size_t row = 0; row < 70; ++row)
      for (std::size_t group = 0; group < 70; ++group) one.set_scale(row, group, group == row ? 134 : 120);
    for (std::size_t i = 0; i < 16; ++i)
      for (std::size_t k = 0; k < 2240; ++k) one.set_activation(i, k, k == 150 * i % 2240 ? 1 : 0);
    one.run({}, target);
  }
}

TEST_CASE("scaled_gemm, plain sums: the largest sums of integers are exact, and a NaN stays in its column") {
  Case one(with(shape(9, 64, 4096), plain("s8", "s4")));
  for (std::size_t k = 0; k < 4096; ++k) {
    for (std::size_t row = 0; row < 64; ++row) one.set_weight(row, k, row % 2 == 0 ? 8 : 7);
    for (std::size_t row = 0; row < 9; ++row) one.set_activation(row, k, row % 2 == 0 ? -128 : 127);
  }
  one.run();
  Case scales(with(shape(9, 70, 100), plain("e4m3", "mxfp4")));
  scales.set_scale(69, 1, 0xff);
  for (const char* target : {"sm_90a", "sm_89"}) {
    const std::vector<double> d = scales.run({}, target);
    CHECK(std::ranges::count_if(d, [](double x) { return std::isnan(x); }) == 9);
  }
}

TEST_CASE("scaled_gemm, plain sums: the default of integers, and what is refused") {
  const auto sums = [](const Settings& given) {
    return scaled_gemm().problem(with(shape(16, 64, 256), given)).at("sums");
  };
  CHECK(sums({{"format_a", "s8"}, {"format_b", "s4"}, {"group", "row"}}) == "plain");
  CHECK(sums({{"format_a", "s8"}, {"format_b", "s4"}, {"group", "row"}, {"k", "131072"}}) == "promoted");
  CHECK(sums({{"format_a", "s8"}, {"format_b", "s4"}}) == "promoted");
  CHECK(sums({{"format_a", "e4m3"}, {"format_b", "s4"}, {"group", "row"}}) == "promoted");
  CHECK(sums({{"format_a", "bf16"}, {"format_b", "s4"}}) == "plain");
  const auto refused = [&](const Settings& given) { return refusal([&] { sums(given); }); };
  CHECK_THAT(refused({{"format_a", "e4m3"}, {"format_b", "s4"}, {"sums", "plain"}}),
             ContainsSubstring("group=row"));
  CHECK_THAT(refused(with(plain("s8", "s4"), {{"k", "131072"}})), ContainsSubstring("131071"));
  CHECK_THAT(refused({{"format_a", "bf16"}, {"format_b", "s4"}, {"sums", "promoted"}}),
             ContainsSubstring("leave sums out"));
}

}  // namespace ptxloom::scaled_gemm_test::plain_sums
