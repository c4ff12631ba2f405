// SPDX-License-Identifier: Apache-2.0
// scaled_gemm in the executor: shapes that no tile divides, the tests' own decoding, special codes, refusals.
#include <algorithm>
#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "ptxloom/context.hpp"
#include "ptxloom/ptx.hpp"
#include "ptxloom/runner.hpp"
#include "scaled_gemm/running.hpp"
#include "support/executor_of.hpp"
#include "support/narrow.hpp"
#include "support/settings.hpp"

using namespace ptxloom;
using namespace ptxloom::scaled_gemm_test;
using Catch::Matchers::ContainsSubstring;
using test::shape;
using test::with;

namespace {

const Context& executor() { return test::executor_of("sm_120a"); }

/// The values of a matrix of elements of 6 bits, 16 of them in 16 bytes, at their positions without padding.
std::vector<double> padded_values(Type type, std::span<const std::byte> bytes) {
  std::vector<double> all;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    all.push_back(
        test::narrow::decode(type, test::narrow::load(type, bytes.subspan(i / 16 * 16, 16), i % 16)));
  return all;
}

std::vector<double> values_of(const HostTensor& tensor) {
  return test::narrow::values(tensor.plan.type, tensor.bytes);
}

/// The values of A (0) or B (1).
std::vector<double> elements_of(const RunResult& run, std::size_t operand) {
  const std::string& format = run.kernel.problem.at(operand == 0 ? "format_a" : "format_b");
  if (format.ends_with("e2m3")) return padded_values(e2m3, run.tensors[operand].bytes);
  if (format.ends_with("e3m2")) return padded_values(e3m2, run.tensors[operand].bytes);
  return values_of(run.tensors[operand]);
}

const HostTensor* find(const RunResult& run, std::string_view name) {
  const auto found =
      std::ranges::find(run.tensors, name, [](const HostTensor& tensor) { return tensor.plan.name; });
  return found == run.tensors.end() ? nullptr : &*found;
}

/// D by the textbook, with the tests' own decoding. Each group of k of A and of B has a scale.
class Products {
 public:
  explicit Products(const RunResult& run)
      : k_(size(run, "k")), a_(operand(run, "a", 0)), b_(operand(run, "b", 1)) {}
  double at(std::size_t row, std::size_t column) const {
    double sum = 0;
    for (std::size_t i = 0; i < k_; ++i) sum += a_.at(row, i, k_) * b_.at(column, i, k_);
    return sum * a_.factor * b_.factor;
  }

 private:
  struct Side {
    std::size_t pitch, length;
    std::vector<double> elements, scales;
    double factor;
    double at(std::size_t row, std::size_t i, std::size_t k) const {
      const double element = elements[row * pitch + i];
      return scales.empty() ? element : element * scales[row * ((k + length - 1) / length) + i / length];
    }
  };
  static std::size_t size(const RunResult& run, const std::string& name) {
    return std::stoull(run.kernel.problem.at(name));
  }
  static Side operand(const RunResult& run, const std::string& name, std::size_t number) {
    const std::string &format = run.kernel.problem.at("format_" + name),
                      &group = run.kernel.problem.at("group");
    const HostTensor* const scales = find(run, "scale_" + name);
    const HostTensor* const whole = group == "tensor" ? scales : find(run, "tensor_scale_" + name);
    Side side{.pitch = size(run, "ld" + name),
              .length = find_type(format)   ? size(run, "k")
                        : format == "nvfp4" ? 16U
                                            : 32U,
              .elements = elements_of(run, number),
              .scales = {},
              .factor = whole == nullptr ? 1 : values_of(*whole)[0]};
    if (scales != nullptr && scales != whole) side.scales = values_of(*scales);
    return side;
  }

  std::size_t k_;
  Side a_, b_;
};

RunResult run(const Settings& problem, const Settings& config = {}, const std::vector<HostTensor>& in = {},
              const char* target = "sm_120a") {
  INFO("problem " << test::words(problem) << ", config " << test::words(config) << ", seed "
                  << Catch::getSeed());
  RunResult result =
      run_template(test::executor_of(target), scaled_gemm(),
                   {.problem = problem, .config = config, .inputs = in, .seed = Catch::getSeed()});
  INFO("all parameters " << test::words(result.kernel.config));
  CHECK(result.verdict.first.empty());
  REQUIRE(result.verdict.ok());
  const auto size = [&](const char* name) { return std::stoull(result.kernel.problem.at(name)); };
  CHECK(result.verdict.checked >= size("m") * size("n"));
  const std::vector<double> d = values_of(result.tensors.back());
  const double precision = result.kernel.problem.at("d") == "f32" ? 1e-5 : 1e-2, terms = double(size("k"));
  const std::size_t m = size("m"), n = size("n"), ldd = size("ldd");
  const Products products(result);
  for (std::size_t row = 0; row < m; ++row)
    for (std::size_t column = 0; column < n; ++column) {
      const double got = d[row * ldd + column], wanted = products.at(row, column);
      INFO("d[" << row << ", " << column << "]");
      if (std::isnan(wanted))
        REQUIRE(std::isnan(got));
      else
        REQUIRE(std::abs(got - wanted) <= precision * (std::abs(wanted) + terms));
    }
  return result;
}

/// A tensor of a problem whose codes are `code(row, column)`.
HostTensor tensor(const Settings& problem, std::string_view name,
                  const std::function<unsigned(std::uint64_t, std::uint64_t)>& code) {
  for (const TensorPlan& plan : scaled_gemm().tensors(scaled_gemm().problem(problem))) {
    if (plan.name != name) continue;
    HostTensor made{plan, std::vector<std::byte>(plan.bytes())};
    for (std::uint64_t i = 0; i < plan.elements(); ++i)
      test::narrow::store(plan.type, made.bytes, i, code(i / plan.shape[1], i % plan.shape[1]));
    return made;
  }
  FAIL("no tensor " << name);
  return {};
}

/// A scale of 2^exponent.
unsigned power(int exponent) { return static_cast<unsigned>(127 + exponent); }

}  // namespace

TEST_CASE("scaled_gemm: shapes that no tile divides, and rows of any length and pitch") {
  run(shape(1, 1, 1));
  run(with(shape(33, 75, 301), {{"d", "f32"}}));
  run(with(shape(130, 9, 128), {{"d", "f16"}}));
  run(with(shape(17, 40, 544), {{"d", "f32"}}));
  run(with(shape(19, 50, 100), {{"lda", "112"}, {"ldb", "101"}, {"ldd", "53"}}));
}

TEST_CASE("scaled_gemm: both formats of 8 bits on either side") {
  for (const char* a : {"mxfp8_e4m3", "mxfp8_e5m2"})
    for (const char* b : {"mxfp8_e4m3", "mxfp8_e5m2"})
      run(with(shape(20, 36, 200), {{"format_a", a}, {"format_b", b}, {"d", "f32"}}));
}

TEST_CASE("scaled_gemm: both formats of 4 bits") {
  for (const char* format : {"mxfp4", "nvfp4"}) {
    const Settings formats{{"format_a", format}, {"d", "f32"}};
    run(with(shape(1, 1, 2), formats));
    run(with(shape(33, 75, 302), formats));
    run(with(shape(130, 9, 1000), formats));
    run(with(with(shape(19, 50, 100), formats), {{"lda", "132"}, {"ldb", "106"}, {"ldd", "53"}}));
    run(with(with(shape(40, 50, 512), formats), {{"lda", "544"}, {"d", "bf16"}}));
    for (const char* depth : {"128", "256"})
      run(with(shape(40, 131, 650), formats),
          {{"tile_m", "32"}, {"tile_n", "64"}, {"tile_k", depth}, {"warps_m", "2"}, {"warps_n", "2"}});
  }
  run(with(shape(37, 70, 130), {{"format_a", "nvfp4"}, {"d", "f32"}}),
      {{"tile_m", "32"}, {"tile_n", "64"}, {"tile_k", "64"}, {"warps_m", "1"}, {"warps_n", "4"}});
}

TEST_CASE("scaled_gemm: MX formats of any width beside each other") {
  constexpr std::array kFormats = {"mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4"};
  for (const char* a : kFormats)
    for (const char* b : kFormats)
      run(with(shape(21, 37, 336), {{"format_a", a}, {"format_b", b}, {"d", "f32"}}));
  run(with(shape(70, 131, 272), {{"format_a", "mxfp4"}, {"format_b", "mxfp6_e3m2"}, {"lda", "304"}}),
      {{"tile_m", "64"}, {"tile_n", "32"}, {"warps_m", "4"}, {"warps_n", "2"}, {"stages", "4"}});
  run(with(shape(33, 50, 150), {{"format_a", "mxfp8_e4m3"}, {"format_b", "mxfp4"}, {"d", "f16"}}));
}

TEST_CASE("scaled_gemm: any two formats are dequantized where no instruction applies their scales") {
  constexpr std::array kFormats = {"mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "nvfp4"};
  int number = 0;
  for (const char* a : kFormats)
    for (const char* b : kFormats) {
      const Settings formats{{"format_a", a}, {"format_b", b}, {"d", "f32"}};
      run(with(shape(21, 37, 336), formats), {{"strategy", "dequantize"}}, {},
          std::array{"sm_80", "sm_89", "sm_90a", "sm_120a"}[static_cast<std::size_t>(number++ % 4)]);
    }
  run(shape(1, 1, 1), {}, {}, "sm_90a");
  run(with(shape(19, 50, 100), {{"lda", "112"}, {"ldb", "101"}, {"ldd", "53"}}), {}, {}, "sm_80");
  run(with(shape(33, 50, 150), {{"format_a", "nvfp4"}, {"format_b", "mxfp8_e5m2"}, {"d", "f16"}}), {}, {},
      "sm_90a");
  const auto config = [](const char* m, const char* n, const char* k, const char* wm, const char* wn,
                         const char* stages) {
    return Settings{{"strategy", "dequantize"},
                    {"tile_m", m},
                    {"tile_n", n},
                    {"tile_k", k},
                    {"warps_m", wm},
                    {"warps_n", wn},
                    {"stages", stages}};
  };
  for (const Settings& c :
       {config("16", "32", "64", "1", "4", "4"), config("128", "64", "64", "2", "2", "2"),
        config("32", "128", "128", "1", "4", "2"), config("64", "32", "128", "4", "4", "2")})
    for (const auto& [a, b] : {std::pair{"mxfp8_e4m3", "mxfp4"}, {"mxfp6_e3m2", "nvfp4"}})
      run(with(shape(70, 131, 432), {{"format_a", a}, {"format_b", b}, {"d", "f32"}}), c, {}, "sm_90a");
}

TEST_CASE("scaled_gemm, dequantized: warpgroups multiply by wgmma") {
  constexpr std::array kFormats = {"mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "nvfp4"};
  const auto config = [](const char* m, const char* n, const char* wn, const char* stages) {
    return Settings{{"strategy", "dequantize_wgmma"},
                    {"tile_m", m},
                    {"tile_n", n},
                    {"tile_k", "64"},
                    {"warps_m", "4"},
                    {"warps_n", wn},
                    {"stages", stages}};
  };
  std::size_t number = 0;
  for (const char* a : kFormats) {
    const char* const b = kFormats[(2 * number++ + 1) % kFormats.size()];
    run(with(shape(71, 37, 336), {{"format_a", a}, {"format_b", b}, {"d", "f32"}}),
        {{"strategy", "dequantize_wgmma"}}, {}, "sm_90a");
  }
  for (const Settings& c : {config("64", "32", "1", "2"), config("128", "128", "2", "2"),
                            config("64", "128", "4", "3"), config("128", "64", "1", "2")})
    for (const auto& [a, b] : {std::pair{"mxfp8_e4m3", "mxfp4"}, {"mxfp6_e3m2", "nvfp4"}, {"e4m3", "e2m1"}})
      run(with(shape(150, 131, 208), {{"format_a", a}, {"format_b", b}, {"d", "f32"}, {"ldd", "133"}}), c, {},
          "sm_90a");
  run(with(shape(33, 8, 128), {{"d", "f16"}}), {}, {}, "sm_90a");
  const Specs specs;
  const auto chosen = [&](int m, const Settings& more) {
    const Settings problem = scaled_gemm().problem(with(shape(m, 64, 64), more));
    return scaled_gemm().config(specs, Target("sm_90a"), problem, {}).at("strategy");
  };
  CHECK(chosen(33, {}) == "dequantize_wgmma");
  CHECK(chosen(32, {}) == "dequantize");
  CHECK(chosen(64, {{"swiglu", "yes"}}) == "dequantize");
}

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

TEST_CASE("scaled_gemm, dequantized: NaN, zeros and the ends of the scales' range") {
  const Settings problem = with(shape(21, 35, 130), {{"d", "f32"}});
  const auto all = [&](const char* name, unsigned code) {
    return tensor(problem, name, [code](auto, auto) { return code; });
  };
  for (const char* target : {"sm_80", "sm_90a"}) {
    const auto one_nan = [&](const char* name, std::uint64_t of_row, std::uint64_t of_group) {
      return tensor(problem, name, [=](auto row, auto group) {
        return row == of_row && group == of_group ? 0xFFU : power(0);
      });
    };
    const RunResult result = run(problem, {}, {one_nan("scale_a", 11, 4), one_nan("scale_b", 34, 0)}, target);
    const std::vector<double> d = values_of(result.tensors[4]);
    CHECK(std::ranges::count_if(d, [](double x) { return std::isnan(x); }) == 35 + 21 - 1);
    run(problem, {}, {all("scale_a", 0x00), all("scale_b", 0xF0)}, target);
    run(problem, {}, {all("a", 0x00), all("b", 0x80), all("scale_a", 0xFE), all("scale_b", 0xFE)}, target);
    // 448 * 2^127 is infinite in bf16.
    const RunResult large = run_template(
        test::executor_of(target), scaled_gemm(),
        {.problem = problem,
         .inputs = {all("a", 0x7E), all("b", 0x38), all("scale_a", 0xFE), all("scale_b", 0x00)}});
    CHECK(large.verdict.first.empty());
    REQUIRE(large.verdict.ok());
    for (const double value : values_of(large.tensors[4])) REQUIRE(std::isinf(value));
  }
}

TEST_CASE("scaled_gemm: each scale of 4-bit elements reaches its own row and group only") {
  for (const char* format : {"mxfp4", "nvfp4"}) {
    const bool nv = std::string_view(format) == "nvfp4";
    const Settings problem = with(shape(37, 43, 330), {{"format_a", format}, {"d", "f32"}});
    const auto scale = [nv](int exponent) {
      return nv ? static_cast<unsigned>(test::narrow::encode(ue4m3, std::ldexp(1.0, exponent)))
                : power(exponent);
    };
    std::vector<HostTensor> in = {
        tensor(problem, "a", [](auto row, auto k) { return static_cast<unsigned>(row + 3 * k) % 16; }),
        tensor(problem, "b", [](auto row, auto k) { return static_cast<unsigned>(5 * row + k) % 16; }),
        tensor(problem, "scale_a",
               [&](auto row, auto group) { return scale(static_cast<int>((row * 5 + group * 3) % 7) - 3); }),
        tensor(problem, "scale_b",
               [&](auto row, auto group) { return scale(static_cast<int>((row * 3 + group * 2) % 5) - 2); })};
    run(problem, {}, in);
    // A NaN of one short last group.
    in[2] = tensor(problem, "scale_a", [&](auto row, auto group) {
      return row == 36 && group == 330 / (nv ? 16 : 32) ? (nv ? 0x7FU : 0xFFU) : scale(0);
    });
    const std::vector<double> d = values_of(run(problem, {}, in).tensors.back());
    CHECK(std::ranges::count_if(d, [](double x) { return std::isnan(x); }) == 43);
  }
}

TEST_CASE("scaled_gemm: divisions among warps, and stages") {
  const auto config = [](const char* m, const char* n, const char* wm, const char* wn, const char* stages) {
    return Settings{{"tile_m", m}, {"tile_n", n}, {"warps_m", wm}, {"warps_n", wn}, {"stages", stages}};
  };
  for (const Settings& c : {config("16", "32", "1", "1", "2"), config("16", "32", "1", "4", "4"),
                            config("64", "32", "4", "4", "3"), config("128", "64", "2", "1", "2"),
                            config("32", "128", "1", "4", "4")})
    run(with(shape(70, 131, 410), {{"d", "f32"}}), c);
}

TEST_CASE("scaled_gemm: each scale reaches its own row and group only") {
  const Settings problem = with(shape(37, 43, 330), {{"d", "f32"}});
  run(problem, {},
      {tensor(problem, "scale_a",
              [](auto row, auto group) { return power(static_cast<int>((row * 5 + group * 3) % 7) - 3); }),
       tensor(problem, "scale_b",
              [](auto row, auto group) { return power(static_cast<int>((row * 3 + group * 2) % 5) - 2); })});
}

TEST_CASE("scaled_gemm: a scale that is NaN reaches its row alone, also that of a short last group") {
  const Settings problem = with(shape(21, 35, 130), {{"d", "f32"}});
  const RunResult result =
      run(problem, {},
          {tensor(problem, "scale_a",
                  [](auto row, auto group) { return row == 11 && group == 4 ? 0xFFU : power(0); }),
           tensor(problem, "scale_b",
                  [](auto row, auto group) { return row == 34 && group == 0 ? 0xFFU : power(0); })});
  const std::vector<double> d = values_of(result.tensors[4]);
  std::size_t not_numbers = 0;
  for (const double value : d) not_numbers += std::isnan(value) ? 1 : 0;
  CHECK(not_numbers == 35 + 21 - 1);
}

TEST_CASE("scaled_gemm: what fills an instruction past the end of k does not round small products away") {
  for (const char* format : {"mxfp4", "nvfp4", "mxfp8_e4m3", "mxfp6_e3m2"})
    for (const int k : {32, 96, 224}) {
      const Settings problem =
          with(shape(19, 34, k), {{"d", "f32"}, {"format_a", format}, {"format_b", format}});
      const unsigned code = format == std::string_view("nvfp4") ? 1 : power(-60);
      const auto small = [code](auto, auto) { return code; };
      const RunResult result =
          run(problem, {}, {tensor(problem, "scale_a", small), tensor(problem, "scale_b", small)});
      const std::vector<double> d = values_of(result.tensors.back());
      CHECK(std::ranges::count(d, 0.0) < std::ssize(d) / 2);
    }
}

TEST_CASE("scaled_gemm: the smallest and the largest scales, and the largest codes") {
  const Settings problem = with(shape(18, 20, 96), {{"d", "f32"}});
  const auto all = [&](const char* name, unsigned code) {
    return tensor(problem, name, [code](auto, auto) { return code; });
  };
  // 2^-127 * 2^127, and the other way round; then products that overflow, and zeros.
  run(problem, {}, {all("scale_a", 0x00), all("scale_b", 0xFE)});
  run(problem, {}, {all("a", 0x7E), all("b", 0xFE), all("scale_a", 0xFE), all("scale_b", 0x00)});
  run(problem, {}, {all("a", 0x00), all("b", 0x80), all("scale_a", 0xFE), all("scale_b", 0xFE)});
  const Settings half = with(problem, {{"d", "f16"}});
  const RunResult result = run_template(
      executor(), scaled_gemm(),
      {.problem = half,
       .inputs = {all("a", 0x7E), all("b", 0x7E), all("scale_a", power(0)), all("scale_b", power(0))}});
  CHECK(result.verdict.ok());
  for (const double value : values_of(result.tensors[4])) REQUIRE(std::isinf(value));
}

TEST_CASE("scaled_gemm: the reference notices a wrong element, a missing one and written padding") {
  const RunResult result = run(with(shape(5, 9, 64), {{"ldd", "12"}, {"d", "f32"}}));
  const auto inputs = std::span(result.tensors).first(4);
  const auto verdict = [&](std::size_t index, float value) {
    HostTensor d = result.tensors[4];
    std::memcpy(d.bytes.data() + 4 * index, &value, 4);
    return verify(scaled_gemm().expect(result.kernel.problem, inputs).at(0), d).ok();
  };
  float right = 0;
  std::memcpy(&right, result.tensors[4].bytes.data() + 4 * 13, 4);
  CHECK(verdict(13, right));
  CHECK_FALSE(verdict(13, right + 0.25F));
  CHECK_FALSE(verdict(11, 0.0F));
}

TEST_CASE("scaled_gemm: what cannot be served is refused, and the hint says what can") {
  const Specs specs;
  const auto refused = [&](const Settings& problem, const Settings& config, const char* target) {
    return refusal(
        [&] { scaled_gemm().config(specs, Target(target), scaled_gemm().problem(problem), config); });
  };
  CHECK_THAT(refused(shape(16, 16, 32), {}, "sm_75"), ContainsSubstring("sm_80, sm_86"));
  CHECK_THAT(refused(shape(16, 16, 32), {{"strategy", "block_scale"}}, "sm_90a"),
             ContainsSubstring("sm_120a"));
  CHECK(refused(shape(16, 16, 32), {}, "sm_121a") == "it was accepted");
  CHECK_THAT(refused(shape(16, 16, 32), {{"tile_m", "16"}, {"warps_m", "2"}}, "sm_120a"),
             ContainsSubstring("16 rows"));
  CHECK_THAT(refused({{"m", "4"}, {"n", "5"}}, {}, "sm_120a"), ContainsSubstring("parameters m, n and k"));
  const Settings packed{{"format_a", "nvfp4"}};
  CHECK_THAT(refused(with(shape(16, 16, 33), packed), {}, "sm_120a"), ContainsSubstring("multiples of 2"));
  CHECK_THAT(refused(with(shape(16, 16, 40), {{"format_b", "mxfp6_e2m3"}}), {}, "sm_120a"),
             ContainsSubstring("multiples of 16"));
  CHECK_THAT(refused(with(shape(16, 16, 34), {{"format_b", "mxfp4"}, {"ldb", "40"}}), {}, "sm_120a"),
             ContainsSubstring("multiple of 16"));
  CHECK_THAT(refused(with(with(shape(16, 16, 32), packed), {{"ldb", "33"}}), {}, "sm_120a"),
             ContainsSubstring("whole bytes") && ContainsSubstring("give a multiple of 2"));
  CHECK_THAT(refused(with(with(shape(16, 16, 32), packed), {{"group", "32"}}), {}, "sm_120a"),
             ContainsSubstring("16 elements"));
  CHECK(refused(with(shape(16, 16, 32), {{"format_a", "mxfp4"}, {"format_b", "nvfp4"}}), {}, "sm_120a") ==
        "it was accepted");
  CHECK_THAT(refused(with(shape(16, 16, 32), {{"format_a", "mxfp4"}, {"format_b", "s4"}}), {}, "sm_120a"),
             ContainsSubstring("mxfp4, nvfp4"));
  CHECK_THAT(refused(with(shape(16, 16, 64), {{"lda", "63"}}), {}, "sm_120a"),
             ContainsSubstring("give at least 64, or 0"));
}
