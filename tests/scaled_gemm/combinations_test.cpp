// SPDX-License-Identifier: Apache-2.0
// scaled_gemm with every format of weights beside every type of activations that the layout has, in the
// executor: random shapes that no tile divides, on each class of targets; and the ends of ranges of scales.
#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "ptxloom/kit/scaled_format.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/space.hpp"
#include "scaled_gemm/weight_case.hpp"
#include "support/executor_of.hpp"

namespace ptxloom::scaled_gemm_test::combinations {
namespace {

using test::shape;
using test::with;

std::vector<std::string> weights_beside(Type activations) {
  std::vector<std::string> found;
  for (const kit::ScaledFormat& one : kit::scaled_formats())
    if (kit::WeightLayout::has(one.element, activations)) found.emplace_back(one.name);
  if (kit::WeightLayout::has(u4, activations)) found.emplace_back("u4");
  return found;
}

class Sizes {
 public:
  Sizes() : random_(Catch::getSeed()) {}
  std::string number(unsigned least, unsigned most) {
    return std::to_string(least + random_() % (most - least + 1));
  }

 private:
  std::mt19937 random_;
};

/// Every scale is a power of two of its own.
void spread_scales(Case& one, std::size_t rows, int least, int most) {
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t group = 0; group < one.groups(); ++group)
      one.set_scale(row, group,
                    static_cast<std::uint64_t>(127 + least +
                                               static_cast<int>((row * 7 + group * 3) % (most - least + 1))));
}

}  // namespace

TEST_CASE("scaled_gemm: all formats of weights beside all activations, on each class of targets") {
  Sizes sizes;
  for (const Type activations : {bf16, f16, e4m3, s8})
    for (const std::string& weights : weights_beside(activations))
      for (const char* target : {"sm_90a", "sm_80", "sm_89"}) {
        if (activations == e4m3 && std::string_view(target) == "sm_80") continue;
        Settings problem{{"m", sizes.number(1, 40)},  {"n", sizes.number(1, 140)},
                         {"k", sizes.number(1, 400)}, {"format_a", std::string(activations.name)},
                         {"format_b", weights},       {"d", "f32"}};
        if (find_type(weights)) problem["group"] = activations.bits == 8 ? "32" : "16";
        Case(problem).run({}, target);
      }
}

TEST_CASE("scaled_gemm: any format beside any other is refused or right, on each class of targets") {
  const ParameterSpace space(scaled_gemm().space());
  const auto formats = [&](std::string_view operand) {
    return std::ranges::find(space.problem(), operand, &TemplateParameter::name)->values;
  };
  int right = 0;
  for (const char* target : {"sm_80", "sm_89", "sm_90a", "sm_120a"})
    for (const std::string& a : formats("format_a"))
      for (const std::string& b : formats("format_b")) {
        CAPTURE(target, a, b, Catch::getSeed());
        const Settings problem{{"m", "17"}, {"n", "40"}, {"k", "96"}, {"format_a", a}, {"format_b", b}};
        try {
          const RunResult run = run_template(test::executor_of(target), scaled_gemm(),
                                             {.problem = problem, .seed = Catch::getSeed()});
          CHECK(run.verdict.ok());
          ++right;
        } catch (const Error& error) {
          CHECK((error.kind() == ErrorKind::usage || error.kind() == ErrorKind::refused));
          CHECK_FALSE(error.diagnostics().front().hint.empty());
        }
      }
  CHECK(right > 4 * 36);
}

TEST_CASE("scaled_gemm: what MX formats and NVFP4 have beside f16 and in 6 bits, in all divisions") {
  for (const auto& [a, b] : {std::pair{"bf16", "mxfp6_e2m3"},
                             {"bf16", "mxfp6_e3m2"},
                             {"f16", "mxfp6_e2m3"},
                             {"f16", "mxfp4"},
                             {"f16", "mxfp8_e5m2"},
                             {"e4m3", "mxfp6_e2m3"},
                             {"e4m3", "nvfp4"},
                             {"e4m3", "u4"},
                             {"s8", "u4"}}) {
    const Settings formats{{"format_a", a}, {"format_b", b}, {"d", "f32"}};
    for (const Settings& c : {Settings{{"tile_m", "16"},
                                       {"tile_n", "128"},
                                       {"tile_k", "64"},
                                       {"warps_n", "8"},
                                       {"stages", "3"},
                                       {"split", "8"}},
                              Settings{{"tile_m", "48"},
                                       {"tile_n", "192"},
                                       {"tile_k", "64"},
                                       {"warps_n", "12"},
                                       {"stages", "2"},
                                       {"split", "1"}},
                              Settings{{"tile_m", "24"},
                                       {"tile_n", "64"},
                                       {"tile_k", "128"},
                                       {"warps_n", "4"},
                                       {"stages", "3"},
                                       {"stream_k", "yes"}}})
      Case(with(shape(37, 131, 1030), formats)).run(c);
    Case(with(shape(140, 200, 160), with(formats, {{"d", "bf16"}})))
        .run({{"tile_m", "32"}, {"tile_n", "64"}, {"tile_k", "128"}, {"warps_n", "4"}, {"stages", "3"}});
    Case(with(shape(67, 199, 410), with(formats, {{"d", "bf16"}})))
        .run({{"tile_m", "64"}, {"tile_n", "128"}, {"tile_k", "128"}, {"warps_n", "8"}}, "sm_89");
  }
}

TEST_CASE("scaled_gemm: all codes of 4 and 6 bits, and all their scales beside bf16") {
  for (const char* b : {"mxfp4", "mxfp6_e2m3", "mxfp6_e3m2"})
    for (const bool large : {false, true}) {
      Case one(with(shape(3, 128, 64), {{"format_a", "bf16"}, {"format_b", b}, {"d", "f32"}}));
      for (std::size_t row = 0; row < 128; ++row) {
        for (std::size_t k = 0; k < 64; ++k)
          one.set_weight(row, k,
                         static_cast<unsigned>((row + 5 * k) % (b == std::string("mxfp4") ? 16 : 64)));
        for (std::size_t group = 0; group < 2; ++group)
          one.set_scale(row, group, row + (large ? 128 : 0));  // 255 is NaN
      }
      // Sums are neither infinite nor subnormal.
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t k = 0; k < 64; ++k)
          one.set_activation(i, k, std::ldexp(1.0 + double(i), large ? -20 : 100));
      for (const char* target : {"sm_90a", "sm_80"}) {
        const std::vector<double> d = one.run({}, target);
        CHECK(std::ranges::count_if(d, [](double x) { return std::isnan(x); }) == (large ? 3 : 0));
      }
    }
}

TEST_CASE(
    "scaled_gemm: with scales of any size a sum may overflow on the way, and is not called wrong then") {
  std::mt19937_64 random(Catch::getSeed());
  for (const char* d : {"f32", "bf16"})
    for (const char* b : {"mxfp4", "mxfp6_e2m3", "mxfp8_e4m3"})
      for (const char* target : {"sm_80", "sm_90a"})
        for (const char* gates : {"no", "yes"}) {
          const Settings problem =
              with(shape(5, 80, 224), {{"format_a", "bf16"}, {"format_b", b}, {"d", d}, {"swiglu", gates}});
          std::vector<HostTensor> in = scaled_gemm().inputs(scaled_gemm().problem(problem), random());
          for (HostTensor& tensor : in)
            if (tensor.plan.name == "scale_b")
              for (std::byte& code : tensor.bytes) code = static_cast<std::byte>(random() % 255);
          INFO(b << " on " << target << ", d=" << d << ", swiglu=" << gates << ", seed " << Catch::getSeed());
          const RunResult result =
              run_template(test::executor_of(target), scaled_gemm(), {.problem = problem, .inputs = in});
          CHECK(result.verdict.first == "");
          REQUIRE(result.verdict.ok());
        }
}

TEST_CASE("scaled_gemm: an infinite activation has exactly one result, finite ones have a tolerance") {
  const Settings problem = scaled_gemm().problem(
      with(shape(4, 64, 128), {{"format_a", "bf16"}, {"format_b", "mxfp4"}, {"d", "f32"}}));
  std::vector<HostTensor> in = scaled_gemm().inputs(problem, Catch::getSeed());
  test::narrow::store(bf16, in[0].bytes, 5, test::narrow::encode(bf16, HUGE_VAL));
  const Expectation expected = scaled_gemm().expect(problem, in).at(0);
  REQUIRE(expected.points.size() == std::size_t{4} * 64);
  for (const Expectation::Point& point : expected.points) {
    CHECK(std::isfinite(point.value) == (point.index >= 64));
    CHECK(std::isfinite(point.tolerance));
  }
  CHECK(run_template(test::executor_of("sm_90a"), scaled_gemm(), {.problem = problem, .inputs = in})
            .verdict.ok());
}

TEST_CASE("scaled_gemm: scales beyond f16 round, vanish or become infinite, and zeros stay zeros") {
  for (const char* b : {"mxfp4", "mxfp6_e3m2", "mxfp8_e4m3"}) {
    Case one(with(shape(2, 160, 32), {{"format_a", "f16"}, {"format_b", b}, {"d", "f32"}}));
    for (std::size_t row = 0; row < 160; ++row) {
      one.set_scale(row, 0, 40 + row);
      for (std::size_t k = 0; k < 32; ++k) one.set_weight(row, k, row % 4 == 0 || k != row % 32 ? 0 : 5);
    }
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t k = 0; k < 32; ++k) one.set_activation(i, k, 1);
    for (const char* target : {"sm_90a", "sm_80"}) {
      const std::vector<double> d = one.run({}, target);
      CHECK(std::ranges::count_if(d, [](double x) { return std::isinf(x); }) > 10);
      CHECK(std::ranges::none_of(d, [](double x) { return std::isnan(x); }));
    }
  }
}

TEST_CASE(
    "scaled_gemm: all codes beside f16, with all scales that it has and NaN, above and below 1 in a "
    "k-block") {
  constexpr std::size_t kLeast = 95, kRows = 46, kNan = 3;  // 2^-32 to 2^13 times 7.5 are finite
  for (const char* b : {"mxfp4", "mxfp6_e2m3", "mxfp6_e3m2"}) {
    Case one(with(shape(2, kRows, 128), {{"format_a", "f16"}, {"format_b", b}, {"d", "f32"}}));
    const unsigned codes = b == std::string("mxfp4") ? 16 : 64;
    for (std::size_t row = 0; row < kRows; ++row) {
      for (std::size_t k = 0; k < 128; ++k)
        one.set_weight(row, k, static_cast<unsigned>((row + 7 * k) % codes));
      for (std::size_t group = 0; group < 4; ++group)
        one.set_scale(row, group,
                      kLeast + (row + 11 * group) % (b == std::string("mxfp6_e3m2") ? kRows - 2 : kRows));
    }
    // A row of A multiplies two groups, so that small weights are not lost beside large ones.
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t k = 0; k < 128; ++k) one.set_activation(i, k, k / 64 == i ? 1 : 0);
    one.set_scale(kNan, 2, 0xff);
    for (const char* target : {"sm_90a", "sm_80"}) {
      const std::vector<double> d = one.run({}, target);
      for (std::size_t i = 0; i < d.size(); ++i) CHECK(std::isnan(d[i]) == (i % kRows == kNan));
    }
  }
}

TEST_CASE("scaled_gemm: 6 bits beside e4m3 with scales of a run that are far apart, zeros and NaN") {
  for (const char* b : {"mxfp6_e2m3", "mxfp6_e3m2"}) {
    Case one(with(shape(5, 80, 256), {{"format_a", "e4m3"}, {"format_b", b}, {"d", "f32"}}));
    spread_scales(one, 80, -4, 4);
    one.run();
    one.run({}, "sm_89");
    // Elements of D are single products of groups that lie up to 2^120 below their run.
    Case far(with(shape(64, 80, 128), {{"format_a", "e4m3"}, {"format_b", b}, {"d", "f32"}}));
    for (std::size_t row = 0; row < 80; ++row)
      for (std::size_t group = 0; group < 4; ++group)
        far.set_scale(row, group, group == row % 4 ? (row == 79 ? 0xff : 127) : 127 - row / 8 % 8);
    for (std::size_t i = 0; i < 64; ++i)
      for (std::size_t k = 0; k < 128; ++k) far.set_activation(i, k, k == 2 * i ? 1 : 0);
    for (const char* target : {"sm_90a", "sm_89"}) {
      const std::vector<double> d = far.run({}, target);
      CHECK(std::ranges::count_if(d, [](double x) { return std::isnan(x); }) == 64);
    }
  }
}

TEST_CASE("scaled_gemm: zero points beside 8 bits, and all scales of NVFP4") {
  for (const char* a : {"e4m3", "s8"})
    for (const char* group : {"32", "128", "row"}) {
      Case one(
          with(shape(13, 70, 300),
               {{"format_a", a}, {"format_b", "u4"}, {"group", group}, {"scale_b", "f32"}, {"d", "f32"}}));
      one.run();
      one.run({}, "sm_89");
    }
  Case scales(with(shape(5, 130, 64), {{"format_a", "e4m3"}, {"format_b", "nvfp4"}, {"d", "f32"}}));
  for (std::size_t row = 0; row < 130; ++row)
    for (std::size_t group = 0; group < 4; ++group)
      scales.set_scale(row, group, row == 129 && group == 2 ? 0x7F : (row + 3 * group) % 127);
  for (const char* target : {"sm_90a", "sm_89"}) {
    scales.set_tensor_scale(3.0F);
    const std::vector<double> d = scales.run({}, target);
    CHECK(std::ranges::count_if(d, [](double x) { return std::isnan(x); }) == 5);
  }
}

}  // namespace ptxloom::scaled_gemm_test::combinations
