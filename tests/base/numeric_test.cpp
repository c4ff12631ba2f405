// SPDX-License-Identifier: Apache-2.0
// Arithmetic and conversions against the machine's own floating-point unit in each of its rounding modes, and
// against definitions worked out in integers. The CUDA headers' opinion is in numeric_cuda_test.cpp.
#include "ptxloom/numeric.hpp"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cfenv>
#include <cmath>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "base/numeric_arithmetic.hpp"
#include "base/numeric_cases.hpp"

namespace ptxloom::test {
namespace {

constexpr std::pair<Rounding, int> kModes[] = {{Rounding::rn, FE_TONEAREST},
                                               {Rounding::rz, FE_TOWARDZERO},
                                               {Rounding::rm, FE_DOWNWARD},
                                               {Rounding::rp, FE_UPWARD}};

// The machine's rounding mode for a scope. Operands go through volatile so that nothing moves out of it.
class MachineRounding {
 public:
  explicit MachineRounding(int mode) { REQUIRE(std::fesetround(mode) == 0); }
  ~MachineRounding() { std::fesetround(FE_TONEAREST); }
  MachineRounding(const MachineRounding&) = delete;
  MachineRounding& operator=(const MachineRounding&) = delete;
};

template <typename Float>
struct Machine;
template <>
struct Machine<float> {
  using Bits = std::uint32_t;
  static constexpr const base::FloatFormat& kFormat = base::kF32;
};
template <>
struct Machine<double> {
  using Bits = std::uint64_t;
  static constexpr const base::FloatFormat& kFormat = base::kF64;
};

template <typename Float>
Float as_float(std::uint64_t bits) {
  return std::bit_cast<Float>(static_cast<typename Machine<Float>::Bits>(bits));
}

// A float's bits; one pattern for all NaN, whose payloads are each machine's own.
template <typename Float>
std::uint64_t as_bits(Float value) {
  if (std::isnan(value)) return Machine<Float>::kFormat.nan;
  return std::bit_cast<typename Machine<Float>::Bits>(value);
}

template <typename Float>
void require_machine_arithmetic(std::uint64_t seed) {
  const base::FloatFormat& format = Machine<Float>::kFormat;
  Operands operands(format.exponent_bits, format.mantissa_bits, seed);
  for (const auto& [rounding, machine] : kModes) {
    const Modifiers modifiers{.rounding = rounding};
    const MachineRounding scope(machine);
    for (int i = 0; i < 100'000; ++i) {
      const std::uint64_t a = operands.next();
      const std::uint64_t b = i % 50 == 0 ? a : operands.next();
      const std::uint64_t c = operands.next();
      volatile Float x = as_float<Float>(a), y = as_float<Float>(b), z = as_float<Float>(c);
      volatile Float sum = x + y, difference = x - y, product = x * y, quotient = x / y, root = std::sqrt(x);
      volatile Float fused = std::fma(static_cast<Float>(x), static_cast<Float>(y), static_cast<Float>(z));
      const auto check = [&](const char* what, std::uint64_t got, Float wanted) {
        const std::uint64_t got_bits = as_bits(as_float<Float>(got));
        if (got_bits == as_bits(wanted)) return;
        FAIL(what << " of " << hex(a) << ' ' << hex(b) << ' ' << hex(c) << " in mode "
                  << static_cast<int>(rounding) << ": got " << hex(got) << ", wanted "
                  << hex(as_bits(wanted)));
      };
      check("add", base::add(format, a, b, modifiers), sum);
      check("sub", base::sub(format, a, b, modifiers), difference);
      check("mul", base::mul(format, a, b, modifiers), product);
      check("div", base::div(format, a, b, modifiers), quotient);
      check("sqrt", base::sqrt(format, a, modifiers), root);
      check("fma", base::fma(format, a, b, c, modifiers), fused);
    }
  }
  SUCCEED();
}

// f16 values as integers in units of 2^-48, in which products of f16 are integers too.
__extension__ using int128 = __int128;
int128 f16_in_units(std::uint64_t bits, int unit) {
  const auto exponent = static_cast<int>(bits >> 10 & 31);
  const int128 mantissa = static_cast<int128>((bits & 0x3ff) | (exponent != 0 ? 0x400u : 0u));
  const int128 magnitude = mantissa << (std::max(exponent, 1) - 25 - unit);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// The nearest f16 found by looking at all of them: the definition of rounding, spelled out.
std::uint64_t search_f16(int128 units, Rounding rounding) {
  const bool negative = units < 0;
  const int128 magnitude = negative ? -units : units;
  std::uint64_t low = 0, high = 0x7c00;  // low: the largest not above; infinity stands at 2^16
  while (high - low > 1) {
    const std::uint64_t middle = (low + high) / 2;
    (f16_in_units(middle, -48) <= magnitude ? low : high) = middle;
  }
  const int128 below = f16_in_units(low, -48);
  const int128 above = f16_in_units(high, -48);
  const bool away = (rounding == Rounding::rp && !negative) || (rounding == Rounding::rm && negative);
  const bool nearest = rounding == Rounding::rn;
  const bool beyond_half = magnitude - below > above - magnitude;
  const bool tie = magnitude - below == above - magnitude;
  const bool up = magnitude != below && (away || (nearest && (beyond_half || (tie && low % 2 == 1))));
  return (up ? high : low) | (negative ? 0x8000u : 0u);
}

}  // namespace

TEST_CASE("f32 add, sub, mul, div, sqrt and fma are the machine's in every rounding mode") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  require_machine_arithmetic<float>(seed);
}

TEST_CASE("f64 add, sub, mul, div, sqrt and fma are the machine's in every rounding mode") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  require_machine_arithmetic<double>(seed);
}

TEST_CASE("f16 fma is the nearest of all f16 values") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Operands operands(5, 10, seed);
  const auto finite = [&] {
    std::uint64_t bits = operands.next();
    while ((bits & 0x7c00) == 0x7c00) bits = operands.next();
    return bits;
  };
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t a = finite(), b = finite(), c = finite();
    const int128 exact = f16_in_units(a, -24) * f16_in_units(b, -24) + f16_in_units(c, -48);
    if (exact == 0) continue;  // the sign of zero is the business of the f32 test
    const Rounding rounding = kModes[i % 4].first;
    const std::uint64_t got = base::fma(base::kF16, a, b, c, {.rounding = rounding});
    if (got != search_f16(exact, rounding)) {
      FAIL(hex(a) << " * " << hex(b) << " + " << hex(c) << " in mode " << static_cast<int>(rounding)
                  << ": got " << hex(got) << ", wanted " << hex(search_f16(exact, rounding)));
    }
  }
  SUCCEED();
}

TEST_CASE("f64 narrows to f32 as the machine does it, in every rounding mode") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  for (const auto& [rounding, machine] : kModes) {
    INFO("mode " << static_cast<int>(rounding));
    const MachineRounding scope(machine);
    require_same(
        rounding_cases(64, seed),
        [rounding = rounding](std::uint64_t bits) { return convert(f32, f64, bits, {.rounding = rounding}); },
        [](std::uint64_t bits) {
          volatile double value = std::bit_cast<double>(bits);
          volatile float narrow = static_cast<float>(value);
          return std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(narrow))};  // NaN as well
        });
  }
}

TEST_CASE("tf32 rounds f32 to 10 bits of mantissa") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  auto cases = rounding_cases(32, seed);
  std::erase_if(cases, [](std::uint64_t bits) { return (bits & 0x7fff'ffff) > 0x7f80'0000; });
  const auto rounded = [](Rounding rounding) {
    return [=](std::uint64_t bits) { return convert(tf32, f32, bits, {.rounding = rounding}); };
  };
  require_same(cases, rounded(Rounding::rna),
               [](std::uint64_t bits) { return (bits + 0x1000) & ~0x1fffull; });
  require_same(cases, rounded(Rounding::rz), [](std::uint64_t bits) { return bits & ~0x1fffull; });
  require_same(cases, rounded(Rounding::rn),
               [](std::uint64_t bits) { return (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffull; });
  CHECK(convert(tf32, f32, 0x7fc0'0001) == 0x7fff'e000);
  CHECK(decode(tf32, 0x3f80'1fff) == 1.0);
}

TEST_CASE("floats become integers as the machine does it, clamped") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(-3, 70);
  for (const auto& [rounding, machine] : kModes) {
    const MachineRounding scope(machine);
    for (int i = 0; i < 50'000; ++i) {
      double value = std::exp2(exponent(random)) * (random() % 2 == 0 ? 1 : -1);
      if (i % 2 == 0) value = std::floor(value) + 0.5;
      volatile double input = value;
      const double integral = std::nearbyint(input);
      const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
      for (const Type type : {s8, u8, s16, u16, s32, u32, s64, u64, s4, u4}) {
        const double limit = std::ldexp(1.0, type.bits - (type.is_signed() ? 1 : 0));
        const auto max = (~0ull >> (64 - type.bits)) >> (type.is_signed() ? 1 : 0);
        const std::uint64_t min = type.is_signed() ? max + 1 : 0;
        std::uint64_t wanted = 0;
        if (integral >= limit) {
          wanted = max;
        } else if (integral <= (type.is_signed() ? -limit : 0.0)) {
          wanted = min;
        } else if (integral < 0) {
          wanted = static_cast<std::uint64_t>(static_cast<std::int64_t>(integral)) & (max | min);
        } else {
          wanted = static_cast<std::uint64_t>(integral);
        }
        const std::uint64_t got = convert(type, f64, bits, {.rounding = rounding});
        if (got != wanted)
          FAIL(value << " to " << type.name << ": got " << hex(got) << ", wanted " << hex(wanted));
        if (encode(type, value, rounding) != wanted) FAIL("encode differs from convert at " << value);
      }
      const std::uint64_t same_type = round_to_integral(f64, bits, {.rounding = rounding});
      if (same_type != std::bit_cast<std::uint64_t>(integral)) FAIL("round_to_integral of " << value);
    }
  }
  SUCCEED();
}

TEST_CASE("a NaN becomes the integer that cvt documents") {
  constexpr std::uint64_t kNanF32 = 0x7fc0'0000, kNanF64 = 0x7ff8'0000'0000'0000;
  CHECK(convert(s32, f32, kNanF32) == 0);
  CHECK(convert(u8, f16, 0x7e00) == 0);
  CHECK(convert(s64, f32, kNanF32) == 0x8000'0000'0000'0000);
  CHECK(convert(u64, f16, 0x7e00) == 0x8000'0000'0000'0000);
  CHECK(convert(s32, f64, kNanF64) == 0x8000'0000);
  CHECK(convert(u16, f64, kNanF64) == 0x8000);
}

TEST_CASE("integers become f32 and f64 as the machine does it, in every rounding mode") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (const auto& [rounding, machine] : kModes) {
    const Modifiers modifiers{.rounding = rounding};
    const MachineRounding scope(machine);
    for (int i = 0; i < 50'000; ++i) {
      const std::uint64_t bits = random() >> random() % 64;
      volatile std::int64_t s = static_cast<std::int64_t>(random() % 2 == 0 ? bits : 0 - bits);
      volatile std::uint64_t u = bits;
      volatile float s_narrow = static_cast<float>(s), u_narrow = static_cast<float>(u);
      volatile double s_wide = static_cast<double>(s), u_wide = static_cast<double>(u);
      const auto s_bits = static_cast<std::uint64_t>(s);
      bool same = convert(f32, s64, s_bits, modifiers) == as_bits<float>(s_narrow);
      same = same && convert(f32, u64, u, modifiers) == as_bits<float>(u_narrow);
      same = same && convert(f64, s64, s_bits, modifiers) == as_bits<double>(s_wide);
      same = same && convert(f64, u64, u, modifiers) == as_bits<double>(u_wide);
      if (!same) FAIL("mode " << static_cast<int>(rounding) << ", integer " << hex(bits));
    }
  }
  SUCCEED();
}

TEST_CASE("integers wrap into narrower ones, or are clamped with sat") {
  const auto sat = [](Type to, Type from, std::uint64_t bits) {
    return convert(to, from, bits, {.saturation = Saturation::sat});
  };
  CHECK(convert(s8, s32, 0x1234'5685) == 0x85);
  CHECK(convert(s32, s8, 0x85) == 0xffff'ff85);
  CHECK(convert(u32, u8, 0x85) == 0x85);
  CHECK(convert(u64, s4, 0x8) == 0xffff'ffff'ffff'fff8);
  CHECK(sat(s8, s32, 0x1234'5685) == 0x7f);
  CHECK(sat(s8, s32, 0x8000'0000) == 0x80);
  CHECK(sat(u8, s32, 0xffff'ffff) == 0);
  CHECK(sat(u4, u32, 0xffff'ffff) == 0xf);
  CHECK(sat(s64, u64, 0xffff'ffff'ffff'ffff) == 0x7fff'ffff'ffff'ffff);
  CHECK(sat(s32, u64, 0x7fff'ffff) == 0x7fff'ffff);
}

TEST_CASE("ftz, sat, relu and satfinite do what PTX says") {
  const std::uint64_t one = 0x3f80'0000, subnormal = 0x8000'0001, least_normal = 0x0080'0000,
                      half = 0x3f00'0000;
  const Modifiers ftz{.ftz = true}, sat{.saturation = Saturation::sat}, relu{.relu = true};
  CHECK(base::mul(base::kF32, least_normal, half) == 0x0040'0000);
  CHECK(base::mul(base::kF32, least_normal, half, ftz) == 0);
  CHECK(base::add(base::kF32, subnormal, 0x8000'0000, ftz) == 0x8000'0000);
  CHECK(base::fma(base::kF32, one, one, one, sat) == one);
  CHECK(base::fma(base::kF32, one, one, 0xbf00'0000, sat) == half);
  CHECK(base::sub(base::kF32, half, one, sat) == 0);
  CHECK(base::sub(base::kF32, 0x7f80'0000, 0x7f80'0000, sat) == 0);
  CHECK(base::sub(base::kF32, 0x7f80'0000, 0x7f80'0000) == 0x7fff'ffff);
  CHECK(base::sub(base::kF16, 0x3800, 0x3c00, relu) == 0);
  CHECK(base::sub(base::kF16, 0x7c00, 0x7c00, relu) == 0x7fff);
  CHECK(convert(f16, f32, subnormal, ftz) == 0x8000);
  CHECK(convert(f32, f16, 0x0001, ftz) == 0x3380'0000);  // a subnormal f16 is none in f32
  CHECK(convert(f16, f32, 0x477f'f000, {.saturation = Saturation::satfinite}) == 0x7bff);
  CHECK(convert(f16, f32, 0xff80'0000, {.saturation = Saturation::satfinite}) == 0xfbff);
  CHECK(convert(e4m3, f32, 0xbf80'0000, {.saturation = Saturation::satfinite, .relu = true}) == 0);
}

// For f32 the limits stand in the machine code that ptxas makes of cvt.ftz.f32.f64.
TEST_CASE("ftz goes by what a result rounds to if exponents have no end") {
  const Modifiers ftz{.ftz = true}, down{.rounding = Rounding::rm, .ftz = true};
  CHECK(convert(f32, f64, 0x380f'ffff'efff'ffff) == 0x0080'0000);
  CHECK(convert(f32, f64, 0x380f'ffff'efff'ffff, ftz) == 0);
  CHECK(convert(f32, f64, 0x380f'ffff'f000'0000, ftz) == 0x0080'0000);
  CHECK(convert(f32, f64, 0xb80f'ffff'e000'0000, down) == 0x8000'0000);
  CHECK(convert(f32, f64, 0xb80f'ffff'e000'0001, down) == 0x8080'0000);
  CHECK(base::mul(base::kF16, 0x07ff, 0x3800) == 0x0400);
  CHECK(base::mul(base::kF16, 0x07ff, 0x3800, ftz) == 0);
  CHECK(base::mul(base::kF16, 0x2001, 0x1ffe, ftz) == 0x0400);
}

TEST_CASE("f64 keeps the payload of one NaN, other formats have one NaN") {
  const std::uint64_t one = 0x3ff0'0000'0000'0000, infinity = 0x7ff0'0000'0000'0000,
                      signalling = 0x7ff0'0000'0000'1234, quiet = 0x7ff8'0000'0000'1234,
                      other = 0xfff8'0000'0000'0001;
  CHECK(base::fma(base::kF64, one, signalling, other) == quiet);
  CHECK(base::fma(base::kF64, other, one, signalling) == quiet);
  CHECK(base::fma(base::kF64, signalling, one, one) == quiet);
  CHECK(base::add(base::kF64, other, signalling) == quiet);
  CHECK(base::fma(base::kF64, one, 0x7ff0'0000'0000'1234, one) == 0x7ff8'0000'0000'1234);
  CHECK(base::sub(base::kF64, infinity, infinity) == 0xfff8'0000'0000'0000);
  CHECK(base::add(base::kF32, 0x7fc0'1234, 0x3f80'0000) == 0x7fff'ffff);
  CHECK(base::mul(base::kBf16, 0x7f81, 0x3f80) == 0x7fff);
}

TEST_CASE("ue4m3 scales are unsigned e4m3") {
  CHECK(decode(ue4m3, 0x7e) == 448.0);
  CHECK(decode(ue4m3, 0x38) == 1.0);
  CHECK(decode(ue4m3, 0xb8) == 1.0);  // the top bit is not used
  CHECK(std::isnan(decode(ue4m3, 0x7f)));
  CHECK(encode(ue4m3, 1000.0, Rounding::rn, Saturation::satfinite) == 0x7e);
  CHECK(encode(ue4m3, -1.0) == 0);
  for (std::uint64_t bits = 0; bits < 0x7f; ++bits) REQUIRE(encode(ue4m3, decode(ue4m3, bits)) == bits);
}

TEST_CASE("ue5m3 takes magnitudes") {
  CHECK(decode(ue5m3, 0xfe) == 114688.0);
  CHECK(decode(ue5m3, 0x78) == 1.0);
  CHECK(std::isnan(decode(ue5m3, 0xff)));
  CHECK(encode(ue5m3, -1.0) == 0x78);
  CHECK(encode(ue5m3, 1e6) == 0xff);
  CHECK(encode(ue5m3, -1e6, Rounding::rn, Saturation::satfinite) == 0xfe);
  for (std::uint64_t bits = 0; bits < 0xff; ++bits) REQUIRE(encode(ue5m3, decode(ue5m3, bits)) == bits);
}

TEST_CASE(".pzo takes the sign of zeros, of rounded ones too") {
  CHECK(convert(e4m3, f32, 0x8000'0000, {.pzo = true}) == 0);
  CHECK(convert(e4m3, f32, 0x8000'0001, {.pzo = true}) == 0);
  CHECK(convert(e4m3, f32, 0xbf80'0000, {.pzo = true}) == 0xb8);
  CHECK(convert(f16, f32, 0x8000'0000) == 0x8000);
}

TEST_CASE("encode inverts decode for every pattern of the narrow types") {
  for (const Type type : {e2m1, e2m3, e3m2, e4m3, e5m2, ue8m0, f16, bf16, s4, u4, s8, u8, b1}) {
    INFO(type.name);
    for (std::uint64_t bits = 0; bits < 1ull << type.bits; ++bits) {
      const double value = decode(type, bits);
      if (!std::isnan(value) && encode(type, value) != bits) FAIL(hex(bits) << " is " << value);
    }
  }
  CHECK(decode(s4, 0xf) == -1.0);
  CHECK(decode(ue8m0, 0) == 0x1p-127);
  CHECK(decode(e2m1, 0xf) == -6.0);
}

TEST_CASE("the first number that rounds to infinity, and the one before it") {
  for (const Type type : {f16, bf16, f32, e5m2}) {
    INFO(type.name);
    const double first = first_infinite(type);
    CHECK(std::isinf(decode(type, encode(type, first))));
    CHECK(std::isinf(decode(type, encode(type, -first))));
    CHECK_FALSE(std::isinf(decode(type, encode(type, std::nextafter(first, 0)))));
  }
  for (const Type type : {e4m3, e2m1, s32}) CHECK(std::isinf(first_infinite(type)));
}

TEST_CASE("no machine rounding mode changes a result") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Operands operands(8, 23, seed);
  for (int i = 0; i < 2'000; ++i) {
    const std::uint64_t a = operands.next(), b = operands.next(), c = operands.next();
    std::optional<std::uint64_t> first;
    for (const auto& mode : kModes) {
      const MachineRounding scope(mode.second);
      const std::uint64_t fused = base::fma(base::kF32, a, b, c);
      const std::uint64_t all = fused ^ convert(e5m2, f32, a) << 32 ^ encode(f16, decode(f32, b)) << 40;
      if (first.value_or(all) != all) FAIL(hex(a) << ' ' << hex(b) << ' ' << hex(c));
      first = all;
    }
  }
  SUCCEED();
}

}  // namespace ptxloom::test
