// SPDX-License-Identifier: Apache-2.0
// The addresses of a launch: invalid ones are refused before anything runs, and C may be D.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "gemm/executor.hpp"
#include "ptxloom/gemm.hpp"
#include "support/errors.hpp"

namespace ptxloom::test::operands_test {
namespace {

constexpr std::uint64_t kM = 72, kN = 80, kK = 64;

struct Matrices {
  std::vector<float> a, b, c, d;

  Matrices() : a(kM * kK), b(kN * kK), c(kM * 256), d(kM * 256, -7) {
    std::mt19937 random(Catch::getSeed());
    for (std::vector<float>* values : {&a, &b, &c})
      for (float& value : *values) value = static_cast<float>(random() % 17) - 8;
  }
};

/// Registers memory with the executor.
class Registered {
 public:
  explicit Registered(std::vector<float>& values) : data_(values.data()) {
    executor().register_memory(data_, values.size() * sizeof(float));
  }
  ~Registered() { executor().unregister_memory(data_); }

 private:
  void* data_;
};

std::string refusal(const Gemm& made, const GemmOperands& operands) {
  return error_of([&] { made.launch(nullptr, operands); }).diagnostics().front().code;
}

GemmProblem problem(std::uint64_t ldc = 0, std::uint64_t ldd = 0) {
  return {.m = kM, .n = kN, .k = kK, .a = tf32, .ldc = ldc, .ldd = ldd, .beta = 2};
}

}  // namespace

TEST_CASE("null, misaligned and overlapping addresses are refused", "[gemm]") {
  Matrices x;
  const Gemm made = gemm(executor(), problem());
  const auto with_d = [&](const float* d) {
    return GemmOperands{.a = x.a.data(), .b = x.b.data(), .c = x.c.data(), .d = d};
  };
  CHECK(refusal(made, {.a = x.a.data(), .b = x.b.data(), .d = x.d.data()}) == "missing-operand");
  CHECK(refusal(made, {.a = x.a.data() + 1, .b = x.b.data(), .c = x.c.data(), .d = x.d.data()}) ==
        "misaligned-operand");
  CHECK(refusal(made, with_d(x.d.data() + 2)) == "misaligned-operand");
  CHECK(refusal(made, with_d(x.a.data())) == "overlapping-operands");
  CHECK(refusal(made, with_d(x.c.data() + 4)) == "overlapping-operands");

  // The same address, but other rows.
  const Gemm wide = gemm(executor(), problem(256, 128));
  CHECK(refusal(wide, with_d(x.c.data())) == "overlapping-operands");
}

TEST_CASE("C may be D, or other columns of the same matrix", "[gemm]") {
  for (const char* strategy : {"mma", "wgmma"}) {
    Matrices x;
    const Registered inputs[] = {Registered(x.a), Registered(x.b), Registered(x.c), Registered(x.d)};
    const Gemm apart = gemm(executor(), problem(256, 256), {{"strategy", strategy}});
    std::vector<float> in_place = x.c, beside = x.c;
    const Registered outputs[] = {Registered(in_place), Registered(beside)};
    apart.launch(nullptr, {.a = x.a.data(), .b = x.b.data(), .c = x.c.data(), .d = x.d.data()});
    apart.launch(nullptr, {.a = x.a.data(), .b = x.b.data(), .c = in_place.data(), .d = in_place.data()});
    apart.launch(nullptr, {.a = x.a.data(), .b = x.b.data(), .c = beside.data(), .d = beside.data() + 96});
    for (std::size_t row = 0; row < kM; ++row)
      for (std::size_t column = 0; column < 256; ++column) {
        const std::size_t i = row * 256 + column;
        const bool of_d = column < kN;
        REQUIRE(in_place[i] == (of_d ? x.d[i] : x.c[i]));
        REQUIRE(x.d[i] == (of_d ? x.d[i] : -7));
        const bool moved = column >= 96 && column < 96 + kN;
        REQUIRE(beside[i] == (moved ? x.d[i - 96] : x.c[i]));
      }
  }
}

}  // namespace ptxloom::test::operands_test
