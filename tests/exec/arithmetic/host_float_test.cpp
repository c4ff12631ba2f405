// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/numeric_arithmetic.hpp"
#include "exec/harness.hpp"
#include "ptxloom/numeric.hpp"

// What the executor leaves to the host's floats, against the exact arithmetic of src/base: every bit, on
// values of all magnitudes and on those that lie next to a tie.
namespace ptxloom::exec::test::host_float_test {
namespace {

using Word = std::uint32_t;
using Short = std::uint16_t;
using Bits = std::uint64_t;
using base::FloatFormat;

/// 16-bit floats, of which every fourth has few bits, so that sums of products end near ties.
std::vector<Short> shorts(Random& random, int mantissa_bits) {
  auto values = floats<Short>(random, mantissa_bits);
  for (Short& value : values) {
    if (random.below(4) == 0) value = static_cast<Short>(value & ~((1u << random.below(8)) - 1));
  }
  return values;
}
std::vector<Word> pairs(Random& random, int mantissa_bits) {
  const auto low = shorts(random, mantissa_bits), high = shorts(random, mantissa_bits);
  std::vector<Word> values(low.size());
  for (std::size_t i = 0; i < low.size(); ++i) values[i] = Word{high[i]} << 16 | low[i];
  return values;
}
std::vector<Word> singles(Random& random) {
  auto values = floats<Word>(random, 23);
  for (Word& value : values) {
    if (random.below(8) == 0)  // products and sums near the least normal number
      value = (value & 0x8000'0000) | (random.below(2) != 0 ? 0x0080'0000 : 0x2000'0000) | random.below(3);
  }
  return values;
}

/// f on each half.
template <class F, class... Words>
Word halves(F f, Words... words) {
  return static_cast<Word>(f((words & 0xffff)...) | f((words >> 16)...) << 16);
}

struct Kind {
  const char* name;
  const FloatFormat* format;
  int mantissa_bits;
};
const Kind kHalves[] = {{"f16", &base::kF16, 10}, {"bf16", &base::kBf16, 7}};

using Binary = Bits (*)(const FloatFormat&, Bits, Bits, Modifiers);

}  // namespace

TEST_CASE("sums, products and fma of 16-bit floats by the host are exact ones, rounded once") {
  Random random;
  INFO("seed " << random.seed);
  for (const Kind& kind : kHalves) {
    const FloatFormat& f = *kind.format;
    const std::string type = kind.name;
    for (const auto& [op, exact] :
         {std::pair<std::string, Binary>{"add", &base::add}, {"sub", &base::sub}, {"mul", &base::mul}}) {
      const auto of = [&](Bits a, Bits b) { return exact(f, a, b, {}); };
      for (int i = 0; i < 4; ++i) {
        expect<Word>(
            op + ".rn." + type + "x2 %d, %a, %b;", [&](Word a, Word b) { return halves(of, a, b); },
            pairs(random, kind.mantissa_bits), pairs(random, kind.mantissa_bits));
      }
      expect<Short>(
          op + ".rn." + type + " %d, %a, %b;", [&](Short a, Short b) { return static_cast<Short>(of(a, b)); },
          shorts(random, kind.mantissa_bits), shorts(random, kind.mantissa_bits));
    }
    const auto fma = [&](Bits a, Bits b, Bits c) { return base::fma(f, a, b, c); };
    for (int i = 0; i < 16; ++i) {
      expect<Word>(
          "fma.rn." + type + "x2 %d, %a, %b, %c;",
          [&](Word a, Word b, Word c) { return halves(fma, a, b, c); }, pairs(random, kind.mantissa_bits),
          pairs(random, kind.mantissa_bits), pairs(random, kind.mantissa_bits));
    }
    expect<Short>(
        "fma.rn." + type + " %d, %a, %b, %c;",
        [&](Short a, Short b, Short c) { return static_cast<Short>(fma(a, b, c)); },
        shorts(random, kind.mantissa_bits), shorts(random, kind.mantissa_bits),
        shorts(random, kind.mantissa_bits));
  }
}

TEST_CASE("a fused sum next to a tie falls to the side of what is left over") {
  // 1 + 2^-8 is a tie of bf16; a product of two makes it, and an addend of any size breaks it.
  Random random;
  INFO("seed " << random.seed);
  for (const Kind& kind : kHalves) {
    std::vector<Short> a, b, c;
    for (std::size_t i = 0; i < kSamples; ++i) {
      // (1 + 2^-m) (1 + 2^-m) or (1 + 2^-k), and small addends of both signs
      const auto one = static_cast<Short>(kind.format->one());
      const auto unit = [&](int shift) {
        return static_cast<Short>(one | 1u << random.below(static_cast<Word>(shift)));
      };
      a.push_back(unit(kind.mantissa_bits));
      b.push_back(unit(kind.mantissa_bits));
      const Word sign = random.below(2) << 15;
      const Word exponent = random.below(2) != 0 ? random.below(one >> kind.mantissa_bits) : 1;
      c.push_back(static_cast<Short>(sign | exponent << kind.mantissa_bits |
                                     (random.below(2) != 0 ? random.below(1u << kind.mantissa_bits) : 0)));
    }
    expect<Short>(
        std::string("fma.rn.") + kind.name + " %d, %a, %b, %c;",
        [&](Short x, Short y, Short z) { return static_cast<Short>(base::fma(*kind.format, x, y, z)); }, a, b,
        c);
  }
}

TEST_CASE("f32 that flushes subnormals by the host is as the exact arithmetic says") {
  Random random;
  INFO("seed " << random.seed);
  const Modifiers ftz{.ftz = true};
  for (const auto& [op, exact] :
       {std::pair<std::string, Binary>{"add", &base::add}, {"sub", &base::sub}, {"mul", &base::mul}}) {
    for (int i = 0; i < 4; ++i) {
      expect<Word>(
          op + ".rn.ftz.f32 %d, %a, %b;",
          [&](Word a, Word b) { return static_cast<Word>(exact(base::kF32, a, b, ftz)); }, singles(random),
          singles(random));
    }
  }
  for (int i = 0; i < 8; ++i) {
    expect<Word>(
        "fma.rn.ftz.f32 %d, %a, %b, %c;",
        [&](Word a, Word b, Word c) { return static_cast<Word>(base::fma(base::kF32, a, b, c, ftz)); },
        singles(random), singles(random), singles(random));
  }
}

TEST_CASE("a product that only rounding makes normal is flushed") {
  // (2^-126 + 2^-149) (1 - 2^-24) is below 2^-126 by less than half of its last bit, and by more than a
  // quarter.
  std::vector<Word> a(kSamples), b(kSamples);
  Random random;
  INFO("seed " << random.seed);
  for (std::size_t i = 0; i < kSamples; ++i) {
    a[i] = 0x0080'0000 + random.below(4);
    b[i] = 0x3f80'0000 - random.below(8);
  }
  expect<Word>(
      "mul.rn.ftz.f32 %d, %a, %b;",
      [](Word x, Word y) { return static_cast<Word>(base::mul(base::kF32, x, y, {.ftz = true})); }, a, b);
}

TEST_CASE("min, max, abs and neg by the host order zeros and treat NaN as PTX does") {
  Random random;
  INFO("seed " << random.seed);
  // min as it is defined (PTX ISA, min), by the values.
  const auto choose = [](const FloatFormat& f, bool is_min, bool nan, bool ftz) {
    return [&f, is_min, nan, ftz](Bits a, Bits b) -> Bits {
      if (ftz) a = base::flush_subnormal(f, a), b = base::flush_subnormal(f, b);
      const auto is_nan = [&](Bits x) { return base::unpack(f, x).is_nan(); };
      if ((is_nan(a) && is_nan(b)) || (nan && (is_nan(a) || is_nan(b)))) return f.nan;
      if (is_nan(a)) return b;
      if (is_nan(b)) return a;
      const auto value = [&](Bits x) {
        return decode(&f == &base::kF32 ? f32 : &f == &base::kF16 ? f16 : bf16, x);
      };
      const bool a_less = value(a) != value(b) ? value(a) < value(b) : std::signbit(value(a));
      return a_less == is_min ? a : b;
    };
  };
  for (const bool is_min : {true, false}) {
    const std::string op = is_min ? "min" : "max";
    for (const bool nan : {true, false}) {
      const std::string spread = nan ? ".NaN" : "";
      for (const bool ftz : {true, false}) {
        const auto of = choose(base::kF32, is_min, nan, ftz);
        expect<Word>(
            op + (ftz ? ".ftz" : "") + spread + ".f32 %d, %a, %b;",
            [&](Word a, Word b) { return static_cast<Word>(of(a, b)); }, singles(random), singles(random));
      }
      for (const Kind& kind : kHalves) {
        const auto of = choose(*kind.format, is_min, nan, false);
        expect<Word>(
            op + spread + "." + kind.name + "x2 %d, %a, %b;",
            [&](Word a, Word b) { return halves(of, a, b); }, pairs(random, kind.mantissa_bits),
            pairs(random, kind.mantissa_bits));
      }
    }
  }
  for (const bool ftz : {true, false}) {
    const auto sign = [&](bool is_abs) {
      return [is_abs, ftz](Word a) -> Word {
        if (base::unpack(base::kF32, a).is_nan()) return 0x7fff'ffff;
        if (ftz) a = static_cast<Word>(base::flush_subnormal(base::kF32, a));
        return is_abs ? a & 0x7fff'ffff : a ^ 0x8000'0000;
      };
    };
    expect<Word>(ftz ? "neg.ftz.f32 %d, %a;" : "neg.f32 %d, %a;", sign(false), singles(random));
    expect<Word>(ftz ? "abs.ftz.f32 %d, %a;" : "abs.f32 %d, %a;", sign(true), singles(random));
  }
}

TEST_CASE("conversions by the host are the exact ones") {
  Random random;
  INFO("seed " << random.seed);
  const auto word = [](Type to, Type from, Modifiers m = {}) {
    return [=](auto value) { return static_cast<Word>(convert(to, from, value, m)); };
  };
  const auto half = [](Type to) {
    return [=](Word value) { return static_cast<Short>(convert(to, f32, value)); };
  };
  std::vector<Short> all(65536);  // every pattern
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Short>(i);
  expect<Word>("cvt.f32.f16 %d, %a;", word(f32, f16), all);
  expect<Word>("cvt.f32.bf16 %d, %a;", word(f32, bf16), all);
  for (int i = 0; i < 8; ++i) {
    const auto values = singles(random);
    std::vector<Word> ties = values;  // of f16 and bf16, and what lies beside them
    for (Word& tie : ties)
      tie = (tie & ~(random.below(2) != 0 ? 0x1fffu : 0xffffu)) + 0x1000 * random.below(9) + random.below(3) -
            1;
    for (const auto& in : {values, ties}) {
      expect<Short>("cvt.rn.f16.f32 %d, %a;", half(f16), in);
      expect<Short>("cvt.rn.bf16.f32 %d, %a;", half(bf16), in);
      expect<Word>("cvt.rni.s32.f32 %d, %a;", word(s32, f32), in);
      expect<Word>("cvt.rni.u32.f32 %d, %a;", word(u32, f32), in);
      expect<Word>("cvt.rzi.ftz.s32.f32 %d, %a;", word(s32, f32, {.rounding = Rounding::rz, .ftz = true}),
                   in);
      expect<Word>("cvt.rzi.u32.f32 %d, %a;", word(u32, f32, {.rounding = Rounding::rz}), in);
    }
    expect<Word>(
        "cvt.rn.f16x2.f32 %d, %a, %b;",
        [&](Word a, Word b) { return Word{half(f16)(a)} << 16 | half(f16)(b); }, values, ties);
    expect<Word>(
        "cvt.rn.bf16x2.f32 %d, %a, %b;",
        [&](Word a, Word b) { return Word{half(bf16)(a)} << 16 | half(bf16)(b); }, values, ties);
    expect<Word>("cvt.rn.f32.s32 %d, %a;", word(f32, s32), integers<Word>(random));
    expect<Word>("cvt.rn.f32.u32 %d, %a;", word(f32, u32), integers<Word>(random));
    expect<Word>("cvt.rn.f32.u64 %d, %a;", word(f32, u64), integers<Bits>(random));
    expect<Word>("cvt.rn.f32.s16 %d, %a;", word(f32, s16), integers<Short>(random));
  }
}

}  // namespace ptxloom::exec::test::host_float_test
