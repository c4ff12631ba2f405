// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cfenv>
#include <cmath>

#include "exec/harness.hpp"

// Reference: the host's arithmetic in the rounding mode asked for, and double for the 16-bit types.
namespace ptxloom::exec::test::float_test {
namespace {

/// f(a, b, c) with the host rounding as the word says.
template <class T, class F>
T rounded(std::string_view word, F f, T a, T b, T c) {
  const int mode = word == "rz"   ? FE_TOWARDZERO
                   : word == "rm" ? FE_DOWNWARD
                   : word == "rp" ? FE_UPWARD
                                  : FE_TONEAREST;
  const int before = std::fegetround();
  std::fesetround(mode);
  volatile T x = a, y = b, z = c;
  volatile T result = f(x, y, z);
  std::fesetround(before);
  return result;
}

float flush(float a) { return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0f, a) : a; }

float from_f16(std::uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
std::uint16_t to_f16(double value) {
  return value != value ? std::uint16_t{0x7fff} : std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
}
float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

}  // namespace

TEST_CASE("a literal of the other width is converted") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = floats32(random);
  expect<double>(
      "cvt.f64.f32 %d, %a; add.f64 %d, %d, 0fBFC00000;", [](float x) { return double{x} + -1.5; }, a);
  expect<float>("add.f32 %d, %a, 0dBFF8000000000000;", [](float x) { return x + -1.5f; }, a);
  // A module that was not read from text may have it too.
  ir::Module module = module_of(kernel_text(
      kOutIn,
      ".reg .u64 %o; .reg .f64 %d; ld.param.u64 %o, [out]; mov.f64 %d, 0d4008000000000000; add.f64 %d, "
      "%d, 0dBFF8000000000000; st.global.f64 [%o], %d;"));
  for (ir::Operand& operand : module.functions[0].operands)
    if (operand.kind == ir::Operand::Kind::f64)
      operand = {.kind = ir::Operand::Kind::f32, .value = operand.value < 0 ? 0xBFC00000 : 0x40400000};
  CHECK(run<double>(Program(module, "k"), 1, 1)[0] == 1.5);
}

TEST_CASE("f32 and f64 arithmetic rounds as asked") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = floats32(random), b = floats32(random), c = floats32(random);
  const auto x = floats64(random), y = floats64(random), z = floats64(random);
  for (const std::string word : {"rn", "rz", "rm", "rp"}) {
    const auto check = [&](const std::string& op, auto f) {
      expect<float>(
          op + "." + word + ".f32 %d, %a, %b;",
          [&](float p, float q) { return rounded<float>(word, f, p, q, 0); }, a, b);
      expect<double>(
          op + "." + word + ".f64 %d, %a, %b;",
          [&](double p, double q) { return rounded<double>(word, f, p, q, 0); }, x, y);
    };
    check("add", [](auto p, auto q, auto) { return p + q; });
    check("sub", [](auto p, auto q, auto) { return p - q; });
    check("mul", [](auto p, auto q, auto) { return p * q; });
    check("div", [](auto p, auto q, auto) { return p / q; });
    const auto fma = [](auto p, auto q, auto r) { return std::fma(p, q, r); };
    expect<float>(
        "fma." + word + ".f32 %d, %a, %b, %c;",
        [&](float p, float q, float r) { return rounded<float>(word, fma, p, q, r); }, a, b, c);
    expect<double>(
        "fma." + word + ".f64 %d, %a, %b, %c;",
        [&](double p, double q, double r) { return rounded<double>(word, fma, p, q, r); }, x, y, z);
    expect<float>(
        "sqrt." + word + ".f32 %d, %a;",
        [&](float p) {
          return rounded<float>(word, [](auto v, auto, auto) { return std::sqrt(v); }, p, p, p);
        },
        a);
  }
}

TEST_CASE("an f32 NaN is PTX's NaN") {
  const auto out = each_thread<std::uint32_t>("add.f32 %d, %a, %b;", std::vector<float>(64, HUGE_VALF),
                                              std::vector<float>(64, -HUGE_VALF));
  CHECK(out[0] == 0x7fff'ffff);
}

// What an H200 gave (docs/results/conformance-h200.md).
TEST_CASE("NaN keeps what the hardware keeps of it") {
  using Words = std::vector<std::uint64_t>;
  const std::uint64_t x = 0xfff8'0000'0000'0000, y = 0xffff'ffff'ffff'fffe, number = 0x3ff0'0000'0000'0000;
  const auto all = [](std::uint64_t value) { return Words(64, value); };
  CHECK(each_thread<std::uint64_t>("add.f64 %d, %a, %b;", all(x), all(y))[0] == y);
  CHECK(each_thread<std::uint64_t>("sub.rz.f64 %d, %a, %b;", all(y), all(x))[0] == x);
  CHECK(each_thread<std::uint64_t>("mul.rm.f64 %d, %a, %b;", all(x), all(y))[0] == y);
  CHECK(each_thread<std::uint64_t>("fma.rz.f64 %d, %a, %b, %c;", all(y), all(number), all(x))[0] == x);
  CHECK(each_thread<std::uint64_t>("fma.rz.f64 %d, %a, %b, %c;", all(y), all(x), all(number))[0] == x);
  CHECK(each_thread<std::uint64_t>("abs.f64 %d, %a;", all(x))[0] == x);
  CHECK(each_thread<std::uint64_t>("neg.f64 %d, %a;", all(0xfff0'675f'5532'2bb9))[0] ==
        0xfff8'675f'5532'2bb9);
  const std::vector<std::uint32_t> word(64, 0x7f91'24b4);
  CHECK(each_thread<std::uint32_t>("abs.f32 %d, %a;", word)[0] == 0x7fff'ffff);
  CHECK(each_thread<std::uint32_t>("neg.ftz.f32 %d, %a;", word)[0] == 0x7fff'ffff);
  const std::vector<std::uint32_t> pair(64, 0x3629'7f5f);
  CHECK(each_thread<std::uint32_t>("abs.f16x2 %d, %a;", pair)[0] == 0x3629'7fff);
}

TEST_CASE("modifiers flush, saturate and cut off") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = floats32(random), b = floats32(random), c = floats32(random);
  expect<float>("add.ftz.f32 %d, %a, %b;", [](float p, float q) { return flush(flush(p) + flush(q)); }, a, b);
  expect<float>("mul.ftz.f32 %d, %a, %b;", [](float p, float q) { return flush(flush(p) * flush(q)); }, a, b);
  const auto saturate = [](float value) {
    return value != value || value <= 0 ? 0.0f : std::min(value, 1.0f);
  };
  expect<float>(
      "fma.rn.sat.f32 %d, %a, %b, %c;",
      [&](float p, float q, float r) { return saturate(std::fma(p, q, r)); }, a, b, c);
}

TEST_CASE("16-bit floats are rounded once") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = floats<std::uint16_t>(random, 10), b = floats<std::uint16_t>(random, 10),
             c = floats<std::uint16_t>(random, 10);
  // In double the product of two f16 is exact, and so is the sum wherever it could come near a tie.
  expect<std::uint16_t>(
      "fma.rn.f16 %d, %a, %b, %c;",
      [](auto p, auto q, auto r) { return to_f16(double{from_f16(p)} * from_f16(q) + from_f16(r)); }, a, b,
      c);
  expect<std::uint16_t>(
      "mul.f16 %d, %a, %b;", [](auto p, auto q) { return to_f16(double{from_f16(p)} * from_f16(q)); }, a, b);
  expect<std::uint16_t>(
      "fma.rn.relu.f16 %d, %a, %b, %c;",
      [](auto p, auto q, auto r) {
        const double value = double{from_f16(p)} * from_f16(q) + from_f16(r);
        return value < 0 || (value == 0 && std::signbit(value)) ? std::uint16_t{0} : to_f16(value);
      },
      a, b, c);
  std::vector<std::uint32_t> ab(a.size()), cd(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab[i] = a[i] | std::uint32_t{b[i]} << 16;
    cd[i] = c[i] | std::uint32_t{a[i]} << 16;
  }
  expect<std::uint32_t>(
      "add.f16x2 %d, %a, %b;",
      [](std::uint32_t p, std::uint32_t q) {
        const auto half = [](std::uint32_t l, std::uint32_t r) {
          return std::uint32_t{to_f16(double{from_f16(static_cast<std::uint16_t>(l))} +
                                      from_f16(static_cast<std::uint16_t>(r)))};
        };
        return half(p, q) | half(p >> 16, q >> 16) << 16;
      },
      ab, cd);
}

TEST_CASE("bf16 products are those of f32, cut") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = floats<std::uint16_t>(random, 7), b = floats<std::uint16_t>(random, 7);
  expect<std::uint16_t>(
      "mul.rn.bf16 %d, %a, %b;",
      [](auto p, auto q) {
        const double exact = double{from_bf16(p)} * from_bf16(q);
        if (exact != exact) return std::uint16_t{0x7fff};
        // Nearest of the two neighbours in 16 bits of an f32 that was rounded to odd.
        float cut = static_cast<float>(exact);
        if (std::isinf(cut) || double{cut} == exact) {
        } else {
          std::fesetround(FE_TOWARDZERO);
          volatile double source = exact;
          cut = static_cast<float>(source);
          std::fesetround(FE_TONEAREST);
          cut = std::bit_cast<float>(std::bit_cast<std::uint32_t>(cut) | 1u);
        }
        const auto bits = std::bit_cast<std::uint32_t>(cut);
        if ((bits & 0x7f80'0000) == 0x7f80'0000) return static_cast<std::uint16_t>(bits >> 16);
        return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
      },
      a, b);
}

TEST_CASE("min and max prefer numbers, or NaN where asked") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = floats32(random), b = floats32(random);
  const auto smaller = [](float p, float q) { return p < q || (p == q && std::signbit(p)) ? p : q; };
  expect<float>(
      "min.f32 %d, %a, %b;", [&](float p, float q) { return p != p   ? q
                                                            : q != q ? p
                                                                     : smaller(p, q); }, a, b);
  expect<float>(
      "min.NaN.f32 %d, %a, %b;", [&](float p, float q) { return p != p   ? p
                                                                : q != q ? q
                                                                         : smaller(p, q); }, a,
      b);
  expect<float>(
      "max.f32 %d, %a, %b;", [&](float p, float q) { return p != p   ? q
                                                            : q != q ? p
                                                                     : -smaller(-p, -q); }, a,
      b);
  expect<double>(
      "max.f64 %d, %a, %b;",
      [](double p, double q) {
        return p != p ? q : q != q ? p : p > q || (p == q && !std::signbit(p)) ? p : q;
      },
      floats64(random), floats64(random));
}

TEST_CASE("mixed sums take an f16 or bf16 as the f32 it is") {
  Random random;
  INFO("seed " << random.seed);
  const auto a = floats<std::uint16_t>(random, 10), b = floats<std::uint16_t>(random, 10);
  const auto c = floats32(random);
  expect<float>("add.f32.f16 %d, %a, %b;", [](auto p, float q) { return from_f16(p) + q; }, a, c);
  expect<float>("sub.f32.bf16 %d, %a, %b;", [](auto p, float q) { return from_bf16(p) - q; }, a, c);
  expect<float>(
      "fma.rn.f32.f16 %d, %a, %b, %c;",
      [](auto p, auto q, float r) { return std::fma(from_f16(p), from_f16(q), r); }, a, b, c);
}

TEST_CASE("approximations are within an ulp of the function") {
  Random random;
  INFO("seed " << random.seed);
  std::vector<float> a(kSamples);
  for (float& value : a) value = static_cast<float>(random.uniform(0.01, 20));
  const auto check = [&](const std::string& op, double (*f)(double)) {
    const auto out = each_thread<float>(op + " %d, %a;", a);
    for (std::size_t i = 0; i < a.size(); ++i) {
      CAPTURE(op, a[i], out[i]);
      REQUIRE(std::abs(out[i] - f(double{a[i]})) <= std::abs(f(double{a[i]})) * 0x1p-23);
    }
  };
  check("ex2.approx.f32", [](double x) { return std::exp2(x); });
  check("lg2.approx.f32", [](double x) { return std::log(x) / std::log(2.0); });
  check("rsqrt.approx.f32", [](double x) { return std::pow(x, -0.5); });
  check("sin.approx.f32", [](double x) { return std::sin(x); });
  check("tanh.approx.f32", [](double x) { return std::tanh(x); });
  check("rcp.approx.f32", [](double x) { return 1 / x; });
}

TEST_CASE("abs and neg change the sign alone, of numbers") {
  Random random;
  INFO("seed " << random.seed);
  expect<std::uint32_t>(
      "abs.f32 %d, %a;",
      [](std::uint32_t a) { return (a & 0x7fff'ffff) > 0x7f80'0000 ? 0x7fff'ffff : a & 0x7fff'ffff; },
      integers<std::uint32_t>(random));
  expect<std::uint64_t>(
      "neg.f64 %d, %a;",
      [](std::uint64_t a) {
        const bool nan = (a & 0x7fff'ffff'ffff'ffff) > 0x7ff0'0000'0000'0000;
        return nan ? a | 0x0008'0000'0000'0000 : a ^ 0x8000'0000'0000'0000;
      },
      integers<std::uint64_t>(random));
  expect<std::uint32_t>(
      "neg.bf16x2 %d, %a;",
      [](std::uint32_t a) {
        const auto half = [](std::uint32_t x) { return (x & 0x7fff) > 0x7f80 ? 0x7fffU : x ^ 0x8000; };
        return half(a >> 16) << 16 | half(a & 0xffff);
      },
      integers<std::uint32_t>(random));
  // The manual's copysign gives its second operand the sign of the first.
  expect<std::uint32_t>(
      "copysign.f32 %d, %a, %b;",
      [](std::uint32_t a, std::uint32_t b) { return (a & 0x8000'0000) | (b & 0x7fff'ffff); },
      integers<std::uint32_t>(random), integers<std::uint32_t>(random));
}

}  // namespace ptxloom::exec::test::float_test
