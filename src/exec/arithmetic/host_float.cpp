// SPDX-License-Identifier: Apache-2.0
#include "exec/arithmetic/host_float.hpp"

#include <cmath>

#include "base/numeric_arithmetic.hpp"
#include "exec/arithmetic/half.hpp"
#include "exec/arithmetic/half_pairs.hpp"
#include "exec/arithmetic/lanewise.hpp"
#include "exec/arithmetic/rounding.hpp"

namespace ptxloom::exec {
namespace {

using Word = std::uint32_t;
using Bits = std::uint64_t;

Bits bits(double value) { return std::bit_cast<Bits>(value); }

// What the host computed, unless it is NaN: then the one of f32, or the one of f64 that `exact` says.
float settle(float result) { return result != result ? std::bit_cast<float>(kNan32) : result; }
template <class Exact>
double settle(double result, Exact exact) {
  return result != result ? std::bit_cast<double>(exact()) : result;
}

float flushed(float value) {
  const auto word = std::bit_cast<Word>(value);
  return std::bit_cast<float>((word & kInfinity32) == 0 ? word & kSign32 : word);
}
// A result that was rounded up to the least normal number may be one to flush: .ftz looks at what it is with
// exponents that have no end.
bool may_be_tiny(float result) { return (std::bit_cast<Word>(result) & ~kSign32) == 0x0080'0000; }

struct Add {
  using Pairs = AddPairs;
  template <class T>
  static T of(T a, T b) {
    return a + b;
  }
  static Bits exact(const base::FloatFormat& f, Bits a, Bits b, Modifiers m = {}) {
    return base::add(f, a, b, m);
  }
};
struct Sub {
  using Pairs = SubPairs;
  template <class T>
  static T of(T a, T b) {
    return a - b;
  }
  static Bits exact(const base::FloatFormat& f, Bits a, Bits b, Modifiers m = {}) {
    return base::sub(f, a, b, m);
  }
};
struct Mul {
  using Pairs = MulPairs;
  template <class T>
  static T of(T a, T b) {
    return a * b;
  }
  static Bits exact(const base::FloatFormat& f, Bits a, Bits b, Modifiers m = {}) {
    return base::mul(f, a, b, m);
  }
};

constexpr Modifiers kFtz{.ftz = true};

template <class Op>
Semantic plain_arithmetic(std::string_view type) {
  if (type == "f32") return lanewise<float, float>([](float a, float b) { return settle(Op::of(a, b)); });
  if (type == "f64") {
    return lanewise<double, double>([](double a, double b) {
      return settle(Op::of(a, b), [&] { return Op::exact(base::kF64, bits(a), bits(b)); });
    });
  }
  return nullptr;
}

// Sums of what is not subnormal are exact where they are.
template <class Op>
Semantic flushing_arithmetic() {
  return lanewise_or_exact<float, float>(
      [](float a, float b, bool& doubtful) {
        const float result = Op::of(flushed(a), flushed(b));
        doubtful = may_be_tiny(result);
        return settle(flushed(result));
      },
      [](float a, float b) {
        return std::bit_cast<float>(
            static_cast<Word>(Op::exact(base::kF32, std::bit_cast<Word>(a), std::bit_cast<Word>(b), kFtz)));
      });
}

// f(low half of each), and f(high half of each) above it.
template <class F, class... Words>
Word by_halves(F f, Words... words) {
  return f((words & 0xffff)...) | f((words >> 16)...) << 16;
}

template <class Format, class Op>
Semantic half_arithmetic(bool pair) {
  constexpr auto f = [](Word a, Word b) { return Format::round(Op::of(Format::widen(a), Format::widen(b))); };
  using F = decltype(f);
  const auto pairs = [](Word a, Word b) { return by_halves(F{}, a, b); };
  if (pair && std::is_same_v<Format, Half>) return half_pairs<typename Op::Pairs, Word, Word>(pairs);
  if (pair) return lanewise<Word, Word>(pairs);
  return lanewise<std::uint16_t, std::uint16_t>(
      [](std::uint16_t a, std::uint16_t b) { return static_cast<std::uint16_t>(F{}(a, b)); });
}

template <class Op>
Semantic arithmetic(std::string_view type, bool ftz) {
  if (ftz) return type == "f32" ? flushing_arithmetic<Op>() : nullptr;
  if (type.starts_with("f16")) return half_arithmetic<Half, Op>(type == "f16x2");
  if (type.starts_with("bf16")) return half_arithmetic<Brain, Op>(type == "bf16x2");
  return plain_arithmetic<Op>(type);
}

bool is_plain_but_for_ftz(Modifiers modifiers) {
  modifiers.ftz = false;
  return is_plain(modifiers);
}

float half_fma(Word a, Word b, Word c) { return fma_to_odd(Half::widen(a), Half::widen(b), Half::widen(c)); }

Semantic f16_fma(bool pair) {
  constexpr auto f = [](Word a, Word b, Word c) { return Half::round(half_fma(a, b, c)); };
  using F = decltype(f);
  const auto pairs = [](Word a, Word b, Word c) { return by_halves(F{}, a, b, c); };
  if (pair) return half_pairs<FmaPairs, Word, Word, Word>(pairs);
  return lanewise<std::uint16_t, std::uint16_t, std::uint16_t>(
      [](std::uint16_t a, std::uint16_t b, std::uint16_t c) {
        return static_cast<std::uint16_t>(F{}(a, b, c));
      });
}

// Rounding to f32 first does harm only where that is a tie between two bf16, subnormal or not.
Word bf16_fma_of(Word a, Word b, Word c, bool& doubtful) {
  const float result = std::fma(Brain::widen(a), Brain::widen(b), Brain::widen(c));
  doubtful |= (std::bit_cast<Word>(result) & 0xffff) == 0x8000;
  return Brain::round(result);
}
Word exact_bf16_fma(Word a, Word b, Word c) { return static_cast<Word>(base::fma(base::kBf16, a, b, c)); }

Semantic bf16_fma(bool pair) {
  if (pair) {
    return lanewise_or_exact<Word, Word, Word>(
        [](Word a, Word b, Word c, bool& doubtful) {
          return by_halves([&](Word x, Word y, Word z) { return bf16_fma_of(x, y, z, doubtful); }, a, b, c);
        },
        [](Word a, Word b, Word c) { return by_halves(&exact_bf16_fma, a, b, c); });
  }
  using Short = std::uint16_t;
  return lanewise_or_exact<Short, Short, Short>(
      [](Short a, Short b, Short c, bool& doubtful) {
        return static_cast<Short>(bf16_fma_of(a, b, c, doubtful));
      },
      [](Short a, Short b, Short c) { return static_cast<Short>(exact_bf16_fma(a, b, c)); });
}

Semantic flushing_fma() {
  return lanewise_or_exact<float, float, float>(
      [](float a, float b, float c, bool& doubtful) {
        const float result = std::fma(flushed(a), flushed(b), flushed(c));
        doubtful = may_be_tiny(result);
        return settle(flushed(result));
      },
      [](float a, float b, float c) {
        return std::bit_cast<float>(static_cast<Word>(base::fma(
            base::kF32, std::bit_cast<Word>(a), std::bit_cast<Word>(b), std::bit_cast<Word>(c), kFtz)));
      });
}

// Floats in the upper bits of words, as PTX orders them: -0 below +0; of a number and a NaN the number is the
// result unless NaN shall spread.
template <class Format, bool is_min, bool propagate>
Word choose(Word a, Word b) {
  constexpr int shift = Format::kShift;
  constexpr Word infinity = Format::kInfinity << shift, nan = Format::kNan << shift;
  const auto rank = [](Word value) {
    return static_cast<std::int32_t>(value ^
                                     (static_cast<Word>(static_cast<std::int32_t>(value) >> 31) >> 1));
  };
  const bool a_nan = (a & ~kSign32) > infinity, b_nan = (b & ~kSign32) > infinity;
  const bool a_wins = is_min ? rank(a) < rank(b) : rank(a) > rank(b);
  Word result = a_wins ? a : b;
  result = a_nan ? b : b_nan ? a : result;
  const bool is_nan = propagate ? a_nan | b_nan : a_nan & b_nan;
  return is_nan ? nan : result;
}

struct SingleWord {
  static constexpr int kShift = 0;
  static constexpr Word kInfinity = kInfinity32, kNan = kNan32;
};
struct HalfWord : Half {
  static constexpr int kShift = 16;
};
struct BrainWord : Brain {
  static constexpr int kShift = 16;
};

template <bool is_min, bool propagate>
Semantic single_minmax(bool ftz) {
  if (ftz) {
    return lanewise<float, float>([](float a, float b) {
      return std::bit_cast<float>(choose<SingleWord, is_min, propagate>(std::bit_cast<Word>(flushed(a)),
                                                                        std::bit_cast<Word>(flushed(b))));
    });
  }
  return lanewise<Word, Word>([](Word a, Word b) { return choose<SingleWord, is_min, propagate>(a, b); });
}

template <class Format, bool is_min, bool propagate>
Semantic half_minmax(bool pair) {
  constexpr auto f = [](Word a, Word b) { return choose<Format, is_min, propagate>(a << 16, b << 16) >> 16; };
  using F = decltype(f);
  if (pair) return lanewise<Word, Word>([](Word a, Word b) { return by_halves(F{}, a, b); });
  return lanewise<std::uint16_t, std::uint16_t>(
      [](std::uint16_t a, std::uint16_t b) { return static_cast<std::uint16_t>(F{}(a, b)); });
}

template <bool is_min, bool propagate>
Semantic minmax(std::string_view type, bool ftz) {
  if (type == "f32") return single_minmax<is_min, propagate>(ftz);
  if (ftz) return nullptr;
  if (type.starts_with("f16")) return half_minmax<HalfWord, is_min, propagate>(type == "f16x2");
  if (type.starts_with("bf16")) return half_minmax<BrainWord, is_min, propagate>(type == "bf16x2");
  return nullptr;
}

// neg flips bits, abs keeps them.
template <bool is_abs, bool ftz>
Semantic single_sign() {
  return lanewise<Word>([](Word a) {
    const Word value = ftz ? std::bit_cast<Word>(flushed(std::bit_cast<float>(a))) : a;
    return is_nan(a) ? kNan32 : is_abs ? value & ~kSign32 : value ^ kSign32;
  });
}

}  // namespace

Semantic host_arithmetic(std::string_view op, std::string_view type, const Modifiers& modifiers) {
  if (!is_plain_but_for_ftz(modifiers)) return nullptr;
  if (op == "add") return arithmetic<Add>(type, modifiers.ftz);
  if (op == "sub") return arithmetic<Sub>(type, modifiers.ftz);
  return op == "mul" ? arithmetic<Mul>(type, modifiers.ftz) : nullptr;
}

Semantic host_fma(std::string_view type, const Modifiers& modifiers) {
  if (!is_plain_but_for_ftz(modifiers)) return nullptr;
  if (modifiers.ftz) return type == "f32" ? flushing_fma() : nullptr;
  if (type == "f32") {
    return lanewise<float, float, float>([](float a, float b, float c) { return settle(std::fma(a, b, c)); });
  }
  if (type == "f64") {
    return lanewise<double, double, double>([](double a, double b, double c) {
      return settle(std::fma(a, b, c), [&] { return base::fma(base::kF64, bits(a), bits(b), bits(c)); });
    });
  }
  if (type.starts_with("f16")) return f16_fma(type == "f16x2");
  return type.starts_with("bf16") ? bf16_fma(type == "bf16x2") : nullptr;
}

Semantic host_minmax(std::string_view type, bool is_min, bool propagate_nan, bool ftz) {
  if (is_min) return propagate_nan ? minmax<true, true>(type, ftz) : minmax<true, false>(type, ftz);
  return propagate_nan ? minmax<false, true>(type, ftz) : minmax<false, false>(type, ftz);
}

Semantic host_sign(std::string_view type, bool is_abs, bool ftz) {
  if (type != "f32") return nullptr;
  if (is_abs) return ftz ? single_sign<true, true>() : single_sign<true, false>();
  return ftz ? single_sign<false, true>() : single_sign<false, false>();
}

}  // namespace ptxloom::exec
