// SPDX-License-Identifier: Apache-2.0
#include "base/mma_sum.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/numeric_cases.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::test {
namespace {

using base::MmaElements;
using base::MmaFactor;
using base::MmaRule;
using Bits = std::vector<std::uint32_t>;

struct Format {
  Type type;
  int exponent_bits;
  int mantissa_bits;
  int min_exponent;
};
constexpr Format kFormats[] = {{f16, 5, 10, -14}, {bf16, 8, 7, -126}, {tf32, 8, 10, -126}, {e4m3, 4, 3, -6},
                               {e5m2, 5, 2, -14}, {e3m2, 3, 2, -2},   {e2m3, 2, 3, 0},     {e2m1, 2, 1, 0}};
constexpr Format kF32Format{f32, 8, 23, -126}, kF16Format = kFormats[0];

// The model number by number, with frexp and ldexp; the library works on vectors of bit patterns.
struct Scaled {
  double significand = 0;  // below 2 in magnitude, below 1 for subnormals
  int exponent = 0;
};

Scaled split(const Format& format, std::uint32_t bits) {
  const double value = decode(format.type, bits);
  if (value == 0) return {0, -10'000};
  int exponent = 0;
  std::frexp(value, &exponent);
  exponent = std::max(exponent - 1, format.min_exponent);
  return {std::ldexp(value, -exponent), exponent};
}

float toward_zero(double value) {
  if (std::abs(value) >= 0x1p128)
    return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(value > 0 ? 1 : -1));
  std::fesetround(FE_TOWARDZERO);
  volatile double wide = value;
  volatile float narrow = static_cast<float>(wide);
  std::fesetround(FE_TONEAREST);
  return narrow;
}

struct Dot {
  Format operands;
  Format accumulator;
  Bits a, b;
  std::uint32_t c;
};

std::uint32_t reference_chunk(const Dot& dot, std::size_t begin, std::size_t end, std::uint32_t c,
                              MmaRule rule) {
  const bool half = dot.accumulator.type == f16;
  std::vector<Scaled> terms{split(dot.accumulator, c)};
  double plain = decode(dot.accumulator.type, c);
  int largest = std::max(terms[0].exponent, half ? rule.least_f16 : rule.least_f32);
  for (std::size_t k = begin; k < end; ++k) {
    const Scaled a = split(dot.operands, dot.a[k]), b = split(dot.operands, dot.b[k]);
    terms.push_back({a.significand * b.significand, a.exponent + b.exponent});
    plain += decode(dot.operands.type, dot.a[k]) * decode(dot.operands.type, dot.b[k]);
    largest = std::max(largest, terms.back().exponent);
  }
  if (std::isnan(plain)) return half ? 0x7fff : 0x7fff'ffff;
  if (std::isinf(plain))
    return (half ? 0x7c00u : 0x7f80'0000u) | (plain < 0 ? (half ? 0x8000u : 0x8000'0000u) : 0u);
  double sum = 0;
  for (const Scaled& term : terms) {
    sum += std::trunc(std::ldexp(term.significand, rule.fraction_bits + term.exponent - largest));
  }
  sum = std::ldexp(sum, largest - rule.fraction_bits);
  const auto unsigned_zero = [](std::uint32_t zero, std::uint32_t bits) { return bits == zero ? 0 : bits; };
  if (half) return unsigned_zero(0x8000, static_cast<std::uint32_t>(encode(f16, sum)));
  const auto bits = std::bit_cast<std::uint32_t>(toward_zero(sum));
  const std::uint32_t dropped = (1u << (23 - rule.result_mantissa_bits)) - 1;
  return (bits & 0x7f80'0000) == 0x7f80'0000 ? bits : unsigned_zero(0x8000'0000, bits & ~dropped);
}

std::uint32_t reference(const Dot& dot, MmaRule rule) {
  const std::size_t chunk = rule.chunk_k > 0 ? static_cast<std::size_t>(rule.chunk_k) : dot.a.size();
  std::uint32_t sum = rule.addend_last ? 0 : dot.c;
  for (std::size_t k = 0; k < dot.a.size(); k += chunk) sum = reference_chunk(dot, k, k + chunk, sum, rule);
  if (!rule.addend_last) return sum;
  // The sum of two f16 is exact in double; of two f32 the host rounds once.
  if (dot.accumulator.type == f16) {
    const auto bits = static_cast<std::uint32_t>(encode(f16, decode(f16, sum) + decode(f16, dot.c)));
    return (bits & 0x7fff) > 0x7c00 ? 0x7fff : bits;
  }
  const float wide = std::bit_cast<float>(sum) + std::bit_cast<float>(dot.c);
  return std::isnan(wide) ? 0x7fff'ffff : std::bit_cast<std::uint32_t>(wide);
}

// The sums of several dots of one row of A, each with its own column of B and addend.
Bits ours(const Format& operands, const Format& accumulator, const Bits& a, const std::vector<Bits>& columns,
          Bits sums, MmaRule rule) {
  Bits rows;  // of B
  for (std::size_t k = 0; k < a.size(); ++k)
    for (const Bits& column : columns) rows.push_back(column[k]);
  const MmaElements x = base::unpack_mma(operands.type, a);
  MmaElements b = base::unpack_mma(operands.type, rows);
  std::vector<MmaFactor> row;
  for (std::uint32_t k = 0; k < a.size(); ++k) row.push_back({x.values[k], x.exponents[k], k});
  const auto dot = accumulator.type == f16 ? base::dot_f16 : base::dot_f32;
  Bits narrow = sums;
  dot(row, b, sums, rule);
  base::narrow(x, b);
  dot(row, b, narrow, rule);
  CHECK(narrow == sums);
  return sums;
}

std::uint32_t ours(const Dot& dot, MmaRule rule) {
  return ours(dot.operands, dot.accumulator, dot.a, {dot.b}, {dot.c}, rule)[0];
}

// Operands in one of the manners that tell models apart: any pattern at all, magnitudes within a few orders,
// one large among small ones, mostly zeros, nearly cancelling.
class Dots {
 public:
  explicit Dots(std::uint64_t seed) : random_(seed) {}

  Dot next(const Format& operands, const Format& accumulator, std::size_t k) {
    const int manner = static_cast<int>(random_() % 5);
    Dot dot{operands, accumulator, {}, {}, number(accumulator, manner)};
    for (std::size_t i = 0; i < k; ++i) {
      dot.a.push_back(number(operands, manner));
      dot.b.push_back(number(operands, manner));
    }
    if (manner == 4) {
      for (std::size_t i = 1; i < k; i += 2) {
        dot.a[i] = dot.a[i - 1] ^ 1u << (operands.type.bits - 1);
        dot.b[i] = dot.b[i - 1] ^ (random_() % 4 == 0 ? 1u << (operands.type == tf32 ? 13 : 0) : 0u);
      }
    }
    return dot;
  }

 private:
  std::uint32_t number(const Format& format, int manner) {
    const int shift = format.type == tf32 ? 13 : 0;
    const auto any =
        static_cast<std::uint32_t>(random_()) & static_cast<std::uint32_t>(~0ull >> (64 - format.type.bits));
    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    const int exponents = (1 << format.exponent_bits) - 1;
    if (manner == 0) return any;
    if (manner == 3 && random_() % 4 != 0) return any & 1u << (format.type.bits - 1);
    const int spread = manner == 2 || manner == 3 ? bias : 4;
    const int exponent =
        std::clamp(bias + static_cast<int>(random_() % static_cast<unsigned>(2 * spread + 1)) - spread, 0,
                   exponents - 1);
    const auto field = static_cast<std::uint32_t>(exponent) << (format.mantissa_bits + shift);
    const auto mask = static_cast<std::uint32_t>(exponents) << (format.mantissa_bits + shift);
    return (any & ~mask) | field;
  }

  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("sums of products are those of the model, for every type, chip and accumulator") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Dots dots(seed);
  const MmaRule rules[] = {{.fraction_bits = 24, .chunk_k = 8, .least_f32 = -132, .least_f16 = -20},
                           {.fraction_bits = 25, .least_f32 = -133, .least_f16 = -21},
                           {.fraction_bits = 24, .chunk_k = 4, .least_f32 = -132, .least_f16 = -20},
                           {.fraction_bits = 13, .chunk_k = 16, .result_mantissa_bits = 13},
                           {.fraction_bits = 35, .least_f32 = -143},
                           {.fraction_bits = 25, .chunk_k = 8, .addend_last = true},
                           {.fraction_bits = 23}};
  for (const Format& operands : kFormats) {
    for (const Format& accumulator : {kF32Format, kF16Format}) {
      for (const MmaRule& rule : rules) {
        for (int i = 0; i < 2'000; ++i) {
          const Dot dot = dots.next(operands, accumulator, i % 2 == 0 ? 16 : 32);
          const std::uint32_t got = ours(dot, rule), wanted = reference(dot, rule);
          if (got == wanted) continue;
          FAIL(operands.type.name << " to " << accumulator.type.name << " with " << rule.fraction_bits
                                  << " bits in chunks of " << rule.chunk_k << ", case " << i << ": got "
                                  << hex(got) << ", wanted " << hex(wanted));
        }
      }
    }
  }
  SUCCEED();
}

TEST_CASE("each column of a row has its own sum, however many there are") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Dots dots(seed);
  const MmaRule rules[] = {{.fraction_bits = 25}, {.fraction_bits = 24, .chunk_k = 8}, {.fraction_bits = 13}};
  for (const std::size_t count : {1u, 7u, 8u, 24u, 33u, 256u}) {
    for (const Format& accumulator : {kF32Format, kF16Format}) {
      for (int i = 0; i < 60; ++i) {
        const MmaRule& rule = rules[i % 3];
        std::vector<Dot> all;
        std::vector<Bits> columns;
        Bits sums;
        for (std::size_t j = 0; j < count; ++j) {
          all.push_back(dots.next(kFormats[1], accumulator, 16));
          all[j].a = all[0].a;
          columns.push_back(all[j].b);
          sums.push_back(all[j].c);
        }
        const Bits got = ours(kFormats[1], accumulator, all[0].a, columns, sums, rule);
        for (std::size_t j = 0; j < count; ++j)
          if (got[j] != reference(all[j], rule))
            FAIL("column " << j << " of " << count << ": got " << hex(got[j]) << ", wanted "
                           << hex(reference(all[j], rule)));
      }
    }
  }
  SUCCEED();
}

TEST_CASE("elements near 1 are summed in 32 bits, with the same result") {
  std::mt19937_64 random(std::random_device{}());
  constexpr std::size_t depth = 16, count = 45;  // 32 columns, 8 and 5 single ones
  for (int round = 0; round < 200; ++round) {
    Bits a(depth), rows(depth * count), wide(count);
    for (std::uint32_t& bits : a) bits = 0x3000 | (random() & 0x8fff);  // f16, 2^-3 to 2^1
    for (std::uint32_t& bits : rows) bits = 0x3000 | (random() & 0x8fff);
    for (std::uint32_t& bits : wide)
      bits = std::bit_cast<std::uint32_t>(float(int(random() % 4001) - 2000) / 7);
    const MmaElements x = base::unpack_mma(f16, a);
    MmaElements b = base::unpack_mma(f16, rows);
    std::vector<MmaFactor> row;
    for (std::uint32_t k = 0; k < depth; ++k) row.push_back({x.values[k], x.exponents[k], k});
    Bits narrow = wide;
    base::dot_f32(row, b, wide, {.fraction_bits = 25});
    base::narrow(x, b);
    REQUIRE(!b.singles.empty());
    base::dot_f32(row, b, narrow, {.fraction_bits = 25});
    CHECK(narrow == wide);
  }
}

namespace {

// c + sum of sums of sixteen, in double, in which all of it is exact.
std::uint32_t scaled_reference(const Bits& a, const Bits& b, Type scale, const Bits& scales_a,
                               const Bits& scales_b, std::uint32_t c, int fraction_bits) {
  const Format format = scale == ue8m0 ? Format{ue8m0, 8, 0, -127} : Format{ue4m3, 4, 3, -6};
  std::vector<Scaled> terms{split(kF32Format, c)};
  int largest = std::max(terms[0].exponent, -108 - fraction_bits);
  bool nan = std::isnan(decode(f32, c));
  for (std::size_t k = 0; k < a.size(); k += 16) {
    const std::size_t block = k * scales_a.size() / a.size();
    nan = nan || std::isnan(decode(scale, scales_a[block])) || std::isnan(decode(scale, scales_b[block]));
    double group = 0;
    for (std::size_t i = k; i < k + 16; ++i) group += decode(e2m1, a[i]) * decode(e2m1, b[i]);
    const Scaled x = split(format, scales_a[block]), y = split(format, scales_b[block]);
    terms.push_back({group * x.significand * y.significand, x.exponent + y.exponent});
    largest = std::max(largest, terms.back().exponent);
  }
  if (nan) return 0x7fff'ffff;
  if (std::isinf(decode(f32, c))) return c;
  double sum = 0;
  for (const Scaled& term : terms)
    sum += std::trunc(std::ldexp(term.significand, fraction_bits + term.exponent - largest));
  return sum == 0 ? 0 : std::bit_cast<std::uint32_t>(toward_zero(std::ldexp(sum, largest - fraction_bits)));
}

std::uint32_t ours_scaled(const Bits& a, const Bits& b, Type scale, const Bits& scales_a,
                          const Bits& scales_b, std::uint32_t c, int fraction_bits) {
  const MmaElements x = base::unpack_mma(e2m1, a), y = base::unpack_mma(e2m1, b),
                    by_x = base::unpack_mma_scales(scale, scales_a);
  std::vector<MmaFactor> row, groups;
  for (std::uint32_t k = 0; k < a.size(); ++k) row.push_back({x.values[k], 0, k});
  for (std::uint32_t g = 0; g < a.size() / base::kMmaGroup; ++g) {
    const std::size_t block = g * scales_a.size() * base::kMmaGroup / a.size();
    groups.push_back({by_x.values[block], by_x.exponents[block], g});
  }
  base::dot_f32(groups, base::sum_groups(row, y, base::unpack_mma_scales(scale, scales_b), 1),
                std::span(&c, 1), {.fraction_bits = fraction_bits, .least_f32 = -108 - fraction_bits});
  return c;
}

}  // namespace

TEST_CASE("sums of scaled e2m1 are those of the model, for both kinds of scale") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (const Type scale : {ue8m0, ue4m3}) {
    for (int i = 0; i < 20'000; ++i) {
      const std::size_t blocks = i % 2 == 0 ? 2 : 4;
      Bits a(64), b(64), scales_a(blocks), scales_b(blocks);
      const std::uint32_t kept =
          i % 3 == 0 ? 0xf : 0x9;  // of the elements' bits: now and then only small ones
      for (auto* bits : {&a, &b})
        for (std::uint32_t& element : *bits) element = static_cast<std::uint32_t>(random()) & kept;
      for (auto* bits : {&scales_a, &scales_b}) {
        for (std::uint32_t& factor : *bits) {
          factor = static_cast<std::uint32_t>(random()) & 0xff;
          if (scale == ue8m0 && i % 16 != 0) factor = 110 + factor % 36;
        }
      }
      auto c = static_cast<std::uint32_t>(random());
      if (i % 5 != 0) c = (c & 0x807f'ffff) | (0x70 + c % 32) << 23;
      for (const int fraction_bits : {35, 25}) {
        const std::uint32_t got = ours_scaled(a, b, scale, scales_a, scales_b, c, fraction_bits),
                            wanted = scaled_reference(a, b, scale, scales_a, scales_b, c, fraction_bits);
        if (got != wanted)
          FAIL(scale.name << " case " << i << ": got " << hex(got) << ", wanted " << hex(wanted));
      }
    }
  }
  SUCCEED();
}

TEST_CASE("a power of two scales all of a block but zeros and infinities; NaN takes it whole") {
  const Bits bits{0x3c, 0x80, 0x7c, 0x01};  // e5m2: 1, -0, infinity, the smallest
  MmaElements a = base::unpack_mma(e5m2, bits);
  const MmaElements one = base::unpack_mma(e5m2, Bits{0x3c}),
                    scales = base::unpack_mma_scales(ue8m0, Bits{130, 0xff});
  const auto at = [&](std::size_t k) {
    const MmaFactor factor{a.values[k], a.exponents[k], 0};
    Bits sum{0};
    base::dot_f32(std::span(&factor, 1), one, sum, {});
    return sum[0];
  };
  for (std::size_t k = 0; k < 4; ++k) base::scale_mma(a, k, scales, 0);
  CHECK(at(0) == std::bit_cast<std::uint32_t>(8.0f));
  CHECK(at(1) == 0);
  CHECK(at(2) == 0x7f80'0000);
  CHECK(at(3) == std::bit_cast<std::uint32_t>(0x1p-13f));
  for (std::size_t k = 0; k < 4; ++k) base::scale_mma(a, k, scales, 1);
  for (std::size_t k = 0; k < 4; ++k) CHECK(at(k) == 0x7fff'ffff);
  CHECK_THROWS_AS(base::unpack_mma_scales(e4m3, Bits{0}), Error);
}

TEST_CASE("8-bit floats as f16 are what they are converted to f16") {
  for (const Type type : {e4m3, e5m2}) {
    Bits narrow, halves;
    for (std::uint32_t bits = 0; bits < 256; ++bits) {
      narrow.push_back(bits);
      halves.push_back(static_cast<std::uint32_t>(convert(f16, type, bits)));
    }
    const MmaElements got = base::unpack_mma_as_f16(type, narrow), wanted = base::unpack_mma(f16, halves);
    CHECK(got.exponents == wanted.exponents);
    CHECK(std::ranges::equal(got.values, wanted.values,
                             [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }));
  }
}

TEST_CASE("what lies below the kept bits of the largest term is cut off, term by term") {
  const std::uint32_t one = 0x3c00, large = 0x7400, minus_large = 0xf400;  // large: 2^14
  const auto dot = [](Bits a, Bits b, std::uint32_t c, MmaRule rule) {
    return ours({kF16Format, kF32Format, std::move(a), std::move(b), c}, rule);
  };
  // 1 - 2^28 + 2^28: the one is 28 bits below the largest.
  CHECK(dot({one, minus_large, large}, {one, large, large}, 0, {.fraction_bits = 28}) == 0x3f80'0000);
  CHECK(dot({one, minus_large, large}, {one, large, large}, 0, {.fraction_bits = 27}) == 0);
  // -2^25 + 1 + 1
  CHECK(dot({one, one}, {one, one}, 0xcc00'0000, {.fraction_bits = 25}) == 0xcbff'ffff);
  CHECK(dot({one, one}, {one, one}, 0xcc00'0000, {.fraction_bits = 24}) == 0xcc00'0000);
  // -2^26 + 1 + 1 + 1 + 1: together they would count.
  CHECK(dot(Bits(4, one), Bits(4, one), 0xcc80'0000, {.fraction_bits = 26}) == 0xcc7f'ffff);
  CHECK(dot(Bits(4, one), Bits(4, one), 0xcc80'0000, {.fraction_bits = 25}) == 0xcc80'0000);
  // 2^25 + 3 has 26 bits, and the result is rounded toward zero.
  CHECK(dot(Bits(3, one), Bits(3, one), 0x4c00'0000, {.fraction_bits = 25}) == 0x4c00'0000);
  // 2^28 - 2^28 and 1 + 1 in chunks of two: it matters which comes first.
  const MmaRule halves{.fraction_bits = 24, .chunk_k = 2};
  CHECK(dot({large, minus_large, one, one}, {large, large, one, one}, 0, halves) == 0x4000'0000);
  CHECK(dot({one, one, large, minus_large}, {one, one, large, large}, 0, halves) == 0);
  CHECK(dot({large, minus_large, one, one}, {large, large, one, one}, 0, {.fraction_bits = 24}) == 0);
}

TEST_CASE("nothing is aligned below the least exponent, and zeros do not count") {
  // 2^-12 * 2^-13 is half of the least f16; 2^-23 * 2^-23 = 2^-46 beside it decides which way it goes.
  const auto narrow = [](MmaRule rule) {
    return ours({kF16Format, kF16Format, {0x0c00, 0x0002, 0x7bff}, {0x0800, 0x0002, 0}, 0}, rule);
  };
  CHECK(narrow({.fraction_bits = 25}) == 1);
  CHECK(narrow({.fraction_bits = 25, .least_f16 = -21}) == 1);
  CHECK(narrow({.fraction_bits = 25, .least_f16 = -20}) == 0);
  CHECK(narrow({.fraction_bits = 24, .least_f16 = -21}) == 0);
  CHECK(narrow({.fraction_bits = 24, .least_f32 = -14}) == 1);  // that of the other accumulator
  // -2^-149 + 2^-158, toward zero.
  const auto wide = [](MmaRule rule) {
    return ours({kFormats[1], kF32Format, {0x9b80, 0x1800, 0}, {0x1900, 0x1800, 0x7f7f}, 0}, rule);
  };
  CHECK(wide({.fraction_bits = 25}) == 0);
  CHECK(wide({.fraction_bits = 25, .least_f32 = -133}) == 0);
  CHECK(wide({.fraction_bits = 25, .least_f32 = -132}) == 0x8000'0001);
  CHECK(wide({.fraction_bits = 25, .least_f16 = -20}) == 0);
}

TEST_CASE("infinities, NaN and zeros follow IEEE, with one NaN") {
  const std::uint32_t one = 0x3c00, infinity = 0x7c00, nan = 0x7e00;
  const auto wide = [](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return ours({kF16Format, kF32Format, {0, a}, {0, b}, c}, {});
  };
  const auto narrow = [](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return ours({kF16Format, kF16Format, {0, a}, {0, b}, c}, {});
  };
  CHECK(wide(infinity, one, 0) == 0x7f80'0000);
  CHECK(wide(infinity, 0xbc00, 0x3f80'0000) == 0xff80'0000);
  CHECK(wide(infinity, one, 0xff80'0000) == 0x7fff'ffff);
  CHECK(wide(infinity, 0, 0) == 0x7fff'ffff);
  CHECK(wide(one, one, 0xffc0'0001) == 0x7fff'ffff);
  CHECK(wide(nan, 0, 0) == 0x7fff'ffff);
  CHECK(wide(0x8000, one, 0x8000'0000) == 0);  // only +0 comes of zeros
  CHECK(narrow(nan, infinity, 0) == 0x7fff);
  CHECK(narrow(infinity, one, 0) == 0x7c00);
  CHECK(narrow(0x7bff, 0x7bff, 0) == 0x7c00);
  CHECK(narrow(0x7bff, one, 0x4c00) == 0x7c00);  // 65504 + 16 is a tie
  CHECK(narrow(0x7bff, one, 0x4bff) == 0x7bff);
  CHECK(narrow(0x0001, 0x0001, 0x0001) == 0x0001);  // subnormals count
}

TEST_CASE("an f32 sum beyond the largest is infinite, though rounding is toward zero") {
  const Format& bf = kFormats[1];
  CHECK(ours({bf, kF32Format, {0x7f7f, 0x7f7f}, {0x3f80, 0x3f80}, 0}, {}) == 0x7f80'0000);
  CHECK(ours({bf, kF32Format, {0x7f7f}, {0xc000}, 0}, {}) == 0xff80'0000);
  CHECK(ours({bf, kF32Format, {0x7f7f, 0xff7f}, {0x7f7f, 0x7f7f}, 0x3f80'0000}, {}) == 0);
}

TEST_CASE("f64 products are added by fma, k ascending") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Operands operands(11, 52, seed);
  for (int i = 0; i < 2'000; ++i) {
    std::vector<std::uint64_t> a, b;
    const std::uint64_t c = operands.next();
    double wanted = std::bit_cast<double>(c);
    for (int k = 0; k < 4; ++k) {
      a.push_back(operands.next());
      b.push_back(operands.next());
      wanted = std::fma(std::bit_cast<double>(a.back()), std::bit_cast<double>(b.back()), wanted);
    }
    const auto got = std::bit_cast<double>(base::dot_f64(a, b, c));
    if (std::isnan(wanted) ? !std::isnan(got)
                           : std::bit_cast<std::uint64_t>(got) != std::bit_cast<std::uint64_t>(wanted)) {
      FAIL("case " << i << ": got " << got << ", wanted " << wanted);
    }
  }
  SUCCEED();
}

TEST_CASE("integer products are summed exactly and wrapped or clamped at the end") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  for (const auto& [a_type, b_type] : {std::pair(s8, s8), {u8, s8}, {u8, u8}, {s4, u4}, {b1, b1}}) {
    for (int i = 0; i < 1'000; ++i) {
      Bits a(32), b(32);
      const std::uint32_t c = static_cast<std::uint32_t>(i % 2 == 0 ? random() : 0x7fff'ffff + random() % 3);
      std::int64_t wanted = static_cast<std::int32_t>(c);
      for (std::size_t k = 0; k < a.size(); ++k) {
        a[k] = static_cast<std::uint32_t>(random()) & ((1u << a_type.bits) - 1);
        b[k] = static_cast<std::uint32_t>(random()) & ((1u << b_type.bits) - 1);
        wanted += static_cast<std::int64_t>(decode(a_type, a[k]) * decode(b_type, b[k]));
      }
      std::vector<std::int32_t> x(a.size()), y(b.size());
      base::unpack_mma(a_type, a, x);
      base::unpack_mma(b_type, b, y);
      std::vector<base::MmaIntegerFactor> row;
      for (std::uint32_t k = 0; k < x.size(); ++k) row.push_back({x[k], k});
      const auto sum = [&](base::MmaIntegerRule rule) {
        std::uint32_t bits = c;
        base::dot_s32(row, y, std::span(&bits, 1), rule);
        return bits;
      };
      REQUIRE(sum({}) == static_cast<std::uint32_t>(wanted));
      const std::int64_t clamped =
          std::min<std::int64_t>(std::max<std::int64_t>(wanted, -0x8000'0000ll), 0x7fff'ffff);
      REQUIRE(sum({.satfinite = true}) == static_cast<std::uint32_t>(clamped));
    }
  }
}

TEST_CASE("types that no mma sums are refused") {
  const Bits bits(4);
  std::vector<std::int32_t> integers(4);
  for (const Type type : {f32, f64, ue8m0, s8, f16x2}) CHECK_THROWS_AS(base::unpack_mma(type, bits), Error);
  for (const Type type : {f16, s16, u32}) CHECK_THROWS_AS(base::unpack_mma(type, bits, integers), Error);
}

}  // namespace ptxloom::test
