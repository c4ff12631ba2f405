// SPDX-License-Identifier: Apache-2.0
// The operand checks of batched launches: they cover the matrices of all batches, and nothing may overlap D.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "gemm/executor.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/runner.hpp"
#include "support/errors.hpp"
#include "support/settings.hpp"

namespace ptxloom::test::batch_operands_test {
namespace {

constexpr const char* kStrategies[] = {"mma", "wgmma"};
constexpr std::uint64_t kM = 16, kN = 32, kK = 24, kBatch = 3;

struct Memory {
  std::vector<float> a = std::vector<float>(8192, 1), b = a, c = a, d = a;
  std::vector<std::int32_t> rows = std::vector<std::int32_t>(kBatch, 5);
};

std::string refusal(const GemmProblem& problem, const GemmOperands& operands) {
  const Gemm made = gemm(executor(), problem, {{"strategy", "mma"}});
  return error_of([&] { made.launch(nullptr, operands); }).diagnostics().front().code;
}

}  // namespace

TEST_CASE("a batched launch checks the operands of all batches", "[gemm]") {
  const Memory x;
  GemmProblem problem{.m = kM, .n = kN, .k = kK, .a = tf32, .batch = kBatch, .beta = 2};
  const auto at = [&](const float* c, const float* d) {
    return GemmOperands{.a = x.a.data(), .b = x.b.data(), .c = c, .d = d};
  };
  // Only the last batch of D overlaps A.
  CHECK(refusal(problem, at(x.c.data(), x.a.data() - 3 * kM * kN + 8)) == "overlapping-operands");
  // The same memory as D, but with another batch stride.
  problem.stride_c = kM * kN + 64;
  CHECK(refusal(problem, at(x.d.data(), x.d.data())) == "overlapping-operands");
  // Batches may be less aligned than rows.
  problem.stride_c = kM * kN + 1;
  problem.stride_d = kM * kN + 4;
  CHECK(refusal(problem, at(x.c.data(), x.d.data() + 1)) == "misaligned-operand");
  CHECK(refusal(problem, {.a = x.a.data() + 2, .b = x.b.data(), .c = x.c.data(), .d = x.d.data()}) ==
        "misaligned-operand");
  problem.groups = GemmGroups::masked;
  CHECK(refusal(problem, at(x.c.data(), x.d.data())) == "missing-operand");
}

TEST_CASE("C next to D's rows is refused if the next batch overlaps it", "[gemm]") {
  const Memory x;
  GemmProblem problem{
      .m = kM, .n = kN, .k = kK, .a = tf32, .ldc = 2 * kN, .ldd = 2 * kN, .batch = kBatch, .beta = 2};
  problem.stride_c = 2 * kM * kN;
  problem.stride_d = 2 * kM * kN + kN;
  CHECK(refusal(problem, {.a = x.a.data(), .b = x.b.data(), .c = x.d.data(), .d = x.d.data() + kN}) ==
        "overlapping-operands");
}

TEST_CASE("C may be D in every batch, or lie between its batches or next to its rows", "[gemm]") {
  struct Place {
    std::uint64_t ld, stride, behind;  // strides of C and D; distance of D after C
  };
  constexpr Place kPlaces[] = {{kN, kM * kN, 0},                // the same
                               {kN, 2 * kM * kN, kM * kN},      // alternating batches
                               {2 * kN, 2 * kM * kN, kN},       // in each row
                               {2 * kBatch * kN, 2 * kN, kN}};  // and all batches in it
  for (const Place& place : kPlaces)
    for (const char* strategy : kStrategies) {
      GemmProblem problem{.m = kM,
                          .n = kN,
                          .k = kK,
                          .a = tf32,
                          .ldc = place.ld,
                          .ldd = place.ld,
                          .batch = kBatch,
                          .stride_c = place.stride,
                          .stride_d = place.stride,
                          .beta = 2};
      Memory x;
      std::mt19937 random(Catch::getSeed());
      for (std::vector<float>* values : {&x.a, &x.b, &x.c})
        for (float& value : *values) value = static_cast<float>(random() % 17) - 8;
      std::vector<float> both = x.c;
      for (std::vector<float>* values : {&x.a, &x.b, &x.c, &x.d, &both})
        executor().register_memory(values->data(), values->size() * sizeof(float));
      const Gemm made = gemm(executor(), problem, {{"strategy", strategy}});
      made.launch(nullptr, {.a = x.a.data(), .b = x.b.data(), .c = x.c.data(), .d = x.d.data()});
      made.launch(nullptr,
                  {.a = x.a.data(), .b = x.b.data(), .c = both.data(), .d = both.data() + place.behind});
      for (std::uint64_t batch = 0; batch < kBatch; ++batch)
        for (std::uint64_t row = 0; row < kM; ++row)
          for (std::uint64_t column = 0; column < kN; ++column) {
            const std::uint64_t i = batch * place.stride + row * place.ld + column;
            REQUIRE(both[i + place.behind] == x.d[i]);
            if (place.behind > 0) REQUIRE(both[i] == x.c[i]);
          }
      for (std::vector<float>* values : {&x.a, &x.b, &x.c, &x.d, &both})
        executor().unregister_memory(values->data());
      if (place.behind == 0) continue;
      // At half that distance they overlap.
      const GemmOperands half{
          .a = x.a.data(), .b = x.b.data(), .c = both.data(), .d = both.data() + place.behind / 2};
      CHECK(error_of([&] { made.launch(nullptr, half); }).diagnostics().front().code ==
            "overlapping-operands");
    }
}

}  // namespace ptxloom::test::batch_operands_test
