// SPDX-License-Identifier: Apache-2.0
// sparse_gemm in the executor, against dense rows that the test compresses, and a product of its own.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "ptxloom/context.hpp"
#include "ptxloom/kit/sparse_layout.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/templates.hpp"
#include "support/executor_of.hpp"
#include "support/misaligned.hpp"
#include "support/narrow.hpp"
#include "support/settings.hpp"

namespace ptxloom::sparse_gemm_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::executor_of;
using test::shape;
using test::with;

const Template& sparse_gemm() {
  static const Templates all;
  return all.find("sparse_gemm");
}

/// A problem with random operands whose products are exact in f32: small integers.
class Case {
 public:
  explicit Case(const Settings& given)
      : problem_(sparse_gemm().problem(given)),
        plans_(sparse_gemm().tensors(problem_)),
        type_(plans_[0].type),
        layout_(type_, size("n"), size("k")),
        random_(Catch::getSeed()) {
    const std::size_t m = size("m"), n = size("n"), k = size("k"),
                      group = static_cast<std::size_t>(layout_.group());
    a_.resize(m * k), b_.resize(n * k);
    for (double& x : a_) x = number();
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t begin = 0; begin < k; begin += group)
        for (std::size_t left = group / 2; left > 0; --left)
          if (const std::size_t at = begin + random_() % group; at < k) b_[row * k + at] = number();
  }

  void set_b(std::size_t column, std::size_t k, double value) { b_[column * size("k") + k] = value; }
  std::vector<double>& a() { return a_; }

  std::vector<double> run(const Settings& config = {}, const std::string& target = "sm_80") {
    const RunResult result = run_template(executor_of(target), sparse_gemm(),
                                          {.problem = problem_, .config = config, .inputs = inputs()});
    INFO("problem " << test::words(problem_) << ", config " << test::words(result.kernel.config) << ", seed "
                    << Catch::getSeed());
    CHECK(result.verdict.first.empty());
    REQUIRE(result.verdict.ok());
    const std::vector<double> d = test::narrow::values(plans_.back().type, result.tensors.back().bytes);
    const std::size_t m = size("m"), n = size("n"), k = size("k");
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double sum = (bias_.empty() ? 0 : bias_[j]) + (c_.empty() ? 0 : c_[i * n + j]);
        for (std::size_t l = 0; l < k; ++l) sum += a_[i * k + l] * b_[j * k + l];
        INFO("d[" << i << ", " << j << "]");
        const double wanted =
            std::isnan(sum)
                ? sum
                : test::narrow::decode(plans_.back().type, test::narrow::encode(plans_.back().type, sum));
        const double got = d[i * size("ldd") + j];
        REQUIRE((std::isnan(wanted) ? std::isnan(got) : got == wanted));
      }
    return d;
  }

 private:
  std::size_t size(const char* name) const { return std::stoull(problem_.at(name)); }
  double number() { return double(random_() % 9) - 4; }

  /// What lies behind the rows of A is NaN, or for integers anything.
  std::vector<HostTensor> inputs() {
    std::vector<HostTensor> all;
    for (const TensorPlan& plan : plans_)
      if (plan.role != TensorPlan::Role::out) all.push_back({plan, std::vector<std::byte>(plan.bytes())});
    const std::size_t m = size("m"), n = size("n"), k = size("k"), lda = size("lda");
    for (std::size_t i = 0; i < m * lda; ++i)
      test::narrow::store(type_, all[0].bytes, i,
                          test::narrow::encode(type_, i % lda < k   ? a_[i / lda * k + i % lda]
                                                      : type_ == s8 ? 77
                                                                    : std::nan("")));
    std::vector<std::byte> dense(n * k * static_cast<std::size_t>(type_.bytes()));
    for (std::size_t i = 0; i < n * k; ++i)
      test::narrow::store(type_, dense, i, test::narrow::encode(type_, b_[i]));
    kit::compress_rows(layout_, dense, k, all[1].bytes, all[2].bytes);
    for (HostTensor& tensor : std::span(all).subspan(3)) {
      std::vector<double>& values = tensor.plan.name == "bias" ? bias_ : c_;
      const std::size_t columns = n, pitch = tensor.plan.name == "bias" ? n : size("ldc");
      values.resize(tensor.plan.elements() / pitch * columns);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = number();
        test::narrow::store(tensor.plan.type, tensor.bytes, i / columns * pitch + i % columns,
                            test::narrow::encode(tensor.plan.type, values[i]));
      }
    }
    return all;
  }

  Settings problem_;
  std::vector<TensorPlan> plans_;
  Type type_;
  kit::SparseLayout layout_;
  std::mt19937_64 random_;
  std::vector<double> a_, b_, bias_, c_;  // rows without gaps; columns of B
};

Settings of(const char* type, const char* d = "f32") { return {{"type", type}, {"d", d}}; }

Settings tiles(const char* m, const char* n, const char* k, const char* warps_m, const char* warps_n,
               const char* stages) {
  return {{"tile_m", m},        {"tile_n", n},        {"tile_k", k},
          {"warps_m", warps_m}, {"warps_n", warps_n}, {"stages", stages}};
}

}  // namespace

TEST_CASE("sparse_gemm: all types, shapes that no tile divides") {
  for (const char* type : {"f16", "bf16", "tf32", "s8", "e4m3", "e5m2"}) {
    const char* const target = std::string_view(type).starts_with("e") ? "sm_89" : "sm_80";
    Case(with(shape(1, 1, 1), of(type))).run({}, target);
    Case(with(shape(19, 75, 301), of(type))).run({}, target);
    Case(with(with(shape(37, 130, 166), of(type)), {{"lda", "192"}, {"ldd", "140"}})).run({}, target);
  }
  Case(with(shape(17, 67, 200), of("s8", "s32"))).run();
  Case(with(shape(17, 72, 200), of("bf16", "bf16"))).run({}, "sm_90a");
  Case(with(shape(17, 72, 200), of("f16", "f16"))).run({}, "sm_120a");
}

TEST_CASE("sparse_gemm: divisions among warps, k-blocks and stages") {
  for (const Settings& c : {tiles("16", "32", "64", "1", "1", "2"), tiles("32", "64", "128", "2", "4", "3"),
                            tiles("64", "128", "64", "4", "2", "4"), tiles("128", "32", "128", "2", "2", "2"),
                            tiles("256", "64", "64", "4", "2", "2"), tiles("96", "64", "64", "2", "2", "3"),
                            tiles("160", "32", "64", "4", "1", "2")})
    for (const char* type : {"f16", "s8", "tf32"}) Case(with(shape(70, 150, 390), of(type))).run(c);
  Case(with(shape(33, 70, 130), of("tf32"))).run(tiles("32", "64", "32", "2", "2", "3"));
}

TEST_CASE("sparse_gemm: by wgmma, all types and divisions among warpgroups") {
  for (const char* type : {"f16", "bf16", "tf32", "s8", "e4m3", "e5m2"}) {
    const int bits = find_type(type)->bits;
    const char* const depth = bits == 8 ? "256" : bits == 16 ? "128" : "64";
    Case(with(shape(1, 1, 1), of(type))).run({}, "sm_90a");
    Case one(with(with(shape(37, 200, 590), of(type)), {{"ldd", "203"}}));
    one.run({}, "sm_90a");
    one.run(tiles("16", "64", depth, "1", "4", "2"), "sm_90a");
    one.run(tiles("32", "128", depth, "1", "4", "3"), "sm_90a");
    one.run(tiles("64", "128", depth, "1", "8", "4"), "sm_90a");
    Case(with(shape(150, 300, 256), of(type))).run(tiles("96", "256", depth, "1", "8", "2"), "sm_90a");
  }
  Case(with(shape(40, 128, 256), of("s8", "s32"))).run(tiles("32", "64", "256", "1", "4", "2"), "sm_90a");
}

TEST_CASE("sparse_gemm: the strategy is a matter of the target, and can be given") {
  const Specs specs;
  const Settings problem = sparse_gemm().problem(with(shape(64, 64, 256), of("f16")));
  const auto chosen = [&](const char* target, const Settings& given) {
    return sparse_gemm().config(specs, Target(target), problem, given).at("strategy");
  };
  CHECK(chosen("sm_90a", {}) == "wgmma");
  CHECK(chosen("sm_90", {}) == "mma_sync");
  CHECK(chosen("sm_90a", {{"strategy", "mma_sync"}}) == "mma_sync");
}

TEST_CASE("sparse_gemm: bias and C") {
  for (const char* d : {"f32", "bf16"})
    for (const char* type : {"f16", "s8"}) {
      Case(with(with(shape(21, 83, 96), of(type, d)), {{"bias", "f32"}})).run();
      Case(with(with(shape(21, 83, 96), of(type, d)), {{"bias", "f16"}, {"c", "f32"}})).run({}, "sm_90a");
      Case(with(with(shape(21, 88, 96), of(type, d)), {{"bias", "bf16"}, {"c", "f16"}, {"ldc", "96"}})).run();
    }
}

TEST_CASE("sparse_gemm: the reference notices a wrong element, a missing one and written padding") {
  const Settings problem = sparse_gemm().problem(with(with(shape(5, 70, 64), of("bf16")), {{"ldd", "72"}}));
  std::vector<HostTensor> tensors = sparse_gemm().inputs(problem, Catch::getSeed());
  const std::vector<Expectation> expected = sparse_gemm().expect(problem, tensors);
  REQUIRE(expected.size() == 1);
  CHECK(expected[0].points.size() == 5 * 70);
  CHECK(expected[0].untouched.size() == 5 * 2);
  CHECK(expected[0].complete);
  HostTensor d{sparse_gemm().tensors(problem).back(), {}};
  d.bytes.assign(d.plan.bytes(), kPoison);
  for (const Expectation::Point& point : expected[0].points)
    test::narrow::store(f32, d.bytes, point.index, test::narrow::encode(f32, point.value));
  CHECK(verify(expected[0], d).ok());
  const std::vector<std::byte> right = d.bytes;
  test::narrow::store(f32, d.bytes, 3 * 72 + 69, test::narrow::encode(f32, 1000));
  CHECK_FALSE(verify(expected[0], d).ok());
  d.bytes = right;
  std::fill_n(d.bytes.begin() + 4 * 72, 4, kPoison);
  CHECK_FALSE(verify(expected[0], d).ok());
  d.bytes = right;
  d.bytes[(2 * 72 + 70) * 4] = std::byte{1};
  CHECK_FALSE(verify(expected[0], d).ok());
}

TEST_CASE("sparse_gemm: NaN and infinity reach their own elements alone") {
  Case one(with(shape(9, 70, 64), of("f16")));
  one.set_b(3, 8, std::nan("")), one.set_b(3, 9, 0), one.set_b(3, 10, 0), one.set_b(3, 11, 0);
  one.a()[2 * 64 + 20] = HUGE_VAL;
  for (std::size_t column = 0; column < 70; ++column)  // of every column one element meets it
    for (std::size_t k = 20; k < 24; ++k) one.set_b(column, k, k == 20 ? 1 : 0);
  one.run();
  one.run({}, "sm_90a");
}

TEST_CASE("sparse_gemm: what cannot be served is refused") {
  const Specs specs;
  const auto refused = [&](const Settings& given, const char* target, const Settings& config = {}) {
    try {
      sparse_gemm().config(specs, Target(target), sparse_gemm().problem(given), config);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("it was accepted");
  };
  const Settings base = with(shape(64, 64, 256), of("f16"));
  CHECK(refused(base, "sm_80") == "it was accepted");
  CHECK_THAT(refused(base, "sm_75"), ContainsSubstring("sm_80, sm_86"));
  CHECK_THAT(refused(with(base, {{"type", "e4m3"}}), "sm_86"), ContainsSubstring("sm_89"));
  CHECK_THAT(refused(with(base, {{"d", "s32"}}), "sm_80"), ContainsSubstring("give f32"));
  CHECK_THAT(refused(with(base, {{"type", "s8"}, {"d", "s32"}, {"bias", "f32"}}), "sm_80"),
             ContainsSubstring("d=f32"));
  CHECK_THAT(refused(with(base, {{"lda", "260"}}), "sm_80"), ContainsSubstring("multiple of 8"));
  CHECK_THAT(refused(base, "sm_80", {{"tile_k", "32"}}), ContainsSubstring("tiles of metadata"));
  CHECK_THAT(refused(base, "sm_80", {{"strategy", "wgmma"}}), ContainsSubstring("sm_90a"));
  CHECK_THAT(refused(base, "sm_90a", {{"tile_k", "64"}}), ContainsSubstring("a multiple of 128"));
}

TEST_CASE("sparse_gemm: misaligned tensors are refused before anything is launched") {
  for (const char* d : {"bf16", "f32"})
    for (const char* target : {"sm_90a", "sm_80"})
      test::check_misaligned("sparse_gemm", target,
                             with(shape(40, 64, 128), {{"d", d}, {"bias", "f32"}, {"c", "f16"}}));
}

}  // namespace ptxloom::sparse_gemm_test
