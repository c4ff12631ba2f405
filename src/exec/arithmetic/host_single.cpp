// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "exec/arithmetic/directed.hpp"
#include "exec/arithmetic/elementwise.hpp"
#include "exec/arithmetic/host_float.hpp"

// f32 in any rounding direction, with or without flush, single or in pairs. The host rounds to nearest. For
// directed rounding, products are exact in f64; quotients and square roots are rounded in f64 and stay on the
// same side of every f32 value as the exact result, from which they differ by less than 2^-50 of themselves.
namespace ptxloom::exec {
namespace {

using Word = std::uint32_t;

template <bool flush>
float taken(float value) {
  return flush ? flush_input(value) : value;
}

/// A result to nearest. .ftz treats as subnormal what is below the smallest normal number when rounded with
/// an unbounded exponent, as `scaled` is: the same operation with the first factor or dividend, and the
/// summand, scaled by 2^64. If those overflow, the result is far from subnormal, or exact.
template <bool flush>
float nearest(float result, float scaled) {
  Word bits = std::bit_cast<Word>(result);
  if constexpr (flush) bits = cleared(std::fabs(scaled) < 0x1p-62f, ~kSign32, bits);
  return std::bit_cast<float>(select(result != result, kNan32, bits));
}
constexpr float kScale = 0x1p64f;

/// A subnormal sum is exact, so its error is available in f32 as well.
template <Rounding rounding, bool flush>
float add(float first, float second) {
  const float a = taken<flush>(first), b = taken<flush>(second), sum = a + b;
  Word bits = std::bit_cast<Word>(sum);
  if constexpr (rounding != Rounding::rn) {
    const bool is_first = std::fabs(a) >= std::fabs(b);
    const float large = select(is_first, a, b), small = select(is_first, b, a);
    const float rest = small - (sum - large);  // also next to an infinity that finite summands round to
    if constexpr (rounding == Rounding::rm)
      bits = select(sum == 0, (std::bit_cast<Word>(a) | std::bit_cast<Word>(b)) & kSign32, bits);
    bits = step<rounding>(bits, rest < 0, rest > 0);
  }
  return canonical(taken<flush>(std::bit_cast<float>(bits)));
}

struct Add {
  static constexpr std::size_t kArity = 2;
  template <Rounding rounding, bool flush>
  static float of(float a, float b) {
    return add<rounding, flush>(a, b);
  }
};
struct Sub {
  static constexpr std::size_t kArity = 2;
  template <Rounding rounding, bool flush>
  static float of(float a, float b) {
    return add<rounding, flush>(a, -b);
  }
};
struct Mul {
  static constexpr std::size_t kArity = 2;
  template <Rounding rounding, bool flush>
  static float of(float first, float second) {
    const float a = taken<flush>(first), b = taken<flush>(second);
    if constexpr (rounding == Rounding::rn) return nearest<flush>(a * b, a * kScale * b);
    return finished<rounding, flush>(static_cast<double>(a) * static_cast<double>(b));
  }
};
struct Fma {
  static constexpr std::size_t kArity = 3;
  template <Rounding rounding, bool flush>
  static float of(float first, float second, float third) {
    const float a = taken<flush>(first), b = taken<flush>(second), c = taken<flush>(third);
    if constexpr (rounding == Rounding::rn)
      return nearest<flush>(std::fma(a, b, c), std::fma(a * kScale, b, c * kScale));
    return finished<rounding, flush>(fma_of_floats<rounding>(a, b, c));
  }
};
struct Div {
  static constexpr std::size_t kArity = 2;
  template <Rounding rounding, bool flush>
  static float of(float first, float second) {
    const float a = taken<flush>(first), b = taken<flush>(second);
    if constexpr (rounding == Rounding::rn) return nearest<flush>(a / b, a * kScale / b);
    return finished<rounding, flush>(static_cast<double>(a) / static_cast<double>(b));
  }
};
struct Reciprocal {
  static constexpr std::size_t kArity = 1;
  template <Rounding rounding, bool flush>
  static float of(float a) {
    return Div::of<rounding, flush>(1.0f, a);
  }
};
struct Sqrt {
  static constexpr std::size_t kArity = 1;
  template <Rounding rounding, bool flush>
  static float of(float first) {
    const float a = taken<flush>(first);
    if constexpr (rounding == Rounding::rn) return canonical(std::sqrt(a));  // never subnormal
    return finished<rounding, flush>(std::sqrt(static_cast<double>(a)));
  }
};

template <class Op>
Semantic in_direction(bool pair, const Modifiers& modifiers) {
  return with_rounding(modifiers.rounding, [&]<Rounding rounding>() {
    const auto of = [&]<bool flush>() {
      return elementwise<NoPlan, float, Op::kArity>(
          pair, [](const NoPlan&, auto... in) { return Op::template of<rounding, flush>(in...); });
    };
    return modifiers.ftz ? of.template operator()<true>() : of.template operator()<false>();
  });
}

// Above 2^126 the reciprocal that it multiplies by is zero (PTX ISA 9.7.3.8).
template <bool flush>
float divide_approximately(float a, float b) {
  const auto bits = std::bit_cast<Word>(b), magnitude = bits & ~kSign32;
  const bool large = (magnitude > 0x7e80'0000) & (magnitude < kInfinity32);
  const float zero = std::bit_cast<float>(bits & kSign32);
  return select(large, canonical(taken<flush>(a) * zero), Div::of<Rounding::rn, flush>(a, b));
}

/// A 16-bit factor or summand, and f32.
template <class Format>
Semantic mixed(std::string_view op, Rounding rounding) {
  using Short = std::uint16_t;
  return with_rounding(rounding, [&]<Rounding r>() {
    if (op == "fma") {
      return lanewise<Short, Short, float>(
          [](Short a, Short b, float c) { return Fma::of<r, false>(Format::widen(a), Format::widen(b), c); });
    }
    return op == "add"
               ? lanewise<Short, float>([](Short a, float c) { return add<r, false>(Format::widen(a), c); })
               : lanewise<Short, float>([](Short a, float c) { return add<r, false>(Format::widen(a), -c); });
  });
}

}  // namespace

Semantic host_single(std::string_view op, bool pair, const Modifiers& modifiers) {
  if (op == "add") return in_direction<Add>(pair, modifiers);
  if (op == "sub") return in_direction<Sub>(pair, modifiers);
  if (op == "mul") return in_direction<Mul>(pair, modifiers);
  if (op == "fma") return in_direction<Fma>(pair, modifiers);
  if (op == "div") return in_direction<Div>(pair, modifiers);
  if (op == "rcp") return in_direction<Reciprocal>(pair, modifiers);
  return op == "sqrt" ? in_direction<Sqrt>(pair, modifiers) : nullptr;
}

Semantic host_approximate_division(bool ftz) {
  return ftz ? lanewise<float, float>([](float a, float b) { return divide_approximately<true>(a, b); })
             : lanewise<float, float>([](float a, float b) { return divide_approximately<false>(a, b); });
}

Semantic host_mixed(std::string_view op, std::string_view narrow, Rounding rounding) {
  return narrow == "bf16" ? mixed<Brain>(op, rounding) : mixed<Half>(op, rounding);
}

}  // namespace ptxloom::exec
