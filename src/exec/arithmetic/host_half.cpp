// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "exec/arithmetic/directed.hpp"
#include "exec/arithmetic/elementwise.hpp"
#include "exec/arithmetic/half.hpp"
#include "exec/arithmetic/half_rows.hpp"
#include "exec/arithmetic/host_float.hpp"
#include "exec/arithmetic/narrow.hpp"
#include "exec/memory/out_of_bounds.hpp"

// f16 and bf16 through f32 (half.hpp).
namespace ptxloom::exec {
namespace {

using Word = std::uint32_t;
using Short = std::uint16_t;

struct Add {
  static constexpr std::size_t kArity = 2;
  static float of(float a, float b) { return a + b; }
};
struct Sub {
  static constexpr std::size_t kArity = 2;
  static float of(float a, float b) { return a - b; }
};
struct Mul {
  static constexpr std::size_t kArity = 2;
  static float of(float a, float b) { return a * b; }
};
// For f16: the product is exact.
struct Fma {
  static constexpr std::size_t kArity = 3;
  static float of(float a, float b, float c) { return fma_to_odd(a, b, c); }
};

/// Below this magnitude, a zero of the same sign.
float flushed_below(float least, float value) {
  const auto bits = std::bit_cast<Word>(value);
  return std::bit_cast<float>(cleared(std::fabs(value) < least, ~kSign32, bits));
}

/// .ftz for f16. Results count as subnormal if they are when rounded with an unbounded exponent.
template <class Op>
float flushing(auto... in) {
  constexpr float least_normal = 0x1p-14f, least_not_tiny = 0x1p-14f - 0x1p-26f;
  return flushed_below(least_not_tiny, Op::of(flushed_below(least_normal, in)...));
}

template <class Op>
Semantic of_f16(bool pair, bool ftz) {
  return ftz ? half_rows<Op::kArity>(pair, [](auto... in) { return flushing<Op>(in...); })
             : half_rows<Op::kArity>(pair, [](auto... in) { return Op::of(in...); });
}

// f(low half of each), with f(high half of each) above it.
template <class F, class... Words>
Word by_halves(F f, Words... words) {
  return f((words & 0xffff)...) | f((words >> 16)...) << 16;
}

template <class Op>
Semantic of_bf16(bool pair) {
  constexpr auto of = [](Word a, Word b) { return Brain::round(Op::of(Brain::widen(a), Brain::widen(b))); };
  using F = decltype(of);
  return pair ? lanewise<Word, Word>([](Word a, Word b) { return by_halves(F{}, a, b); })
              : lanewise<Short, Short>([](Short a, Short b) { return static_cast<Short>(F{}(a, b)); });
}

/// Rounding to f32 first is harmful only if that gives a tie between two bf16 and the exact sum is not a tie.
/// Then bits of c were lost: the product has 16 bits, which end above those of f32 if it forms a tie with a
/// larger c.
Word brain_fma(Word first, Word second, Word third, bool& doubtful) {
  const float a = Brain::widen(first), b = Brain::widen(second), c = Brain::widen(third);
  const float sum = std::fma(a, b, c);
  const bool is_tie = (std::bit_cast<Word>(sum) & 0xffff) == 0x8000;
  doubtful |= is_tie & (sum - a * b != c);
  return Brain::round(sum);
}
Word exact_brain_fma(Word a, Word b, Word c) {
  const double sum = fma_of_floats<Rounding::rn>(Brain::widen(a), Brain::widen(b), Brain::widen(c));
  return Brain::round(float_to_odd(sum));
}

bool is_outside(Word factor) { return (factor & 0x7fff) == kOutOfBoundsNan; }
template <bool oob>
Word unless_outside(Word a, Word b, Word result) {
  return when(!(oob & (is_outside(a) | is_outside(b))), result);
}

template <bool oob>
Semantic brain_fma(bool pair) {
  if (!pair) {
    return lanewise_or_exact<Short, Short, Short>(
        [](Short a, Short b, Short c, bool& doubtful) {
          return static_cast<Short>(unless_outside<oob>(a, b, brain_fma(a, b, c, doubtful)));
        },
        [](Short a, Short b, Short c) {
          return static_cast<Short>(unless_outside<oob>(a, b, exact_brain_fma(a, b, c)));
        });
  }
  return lanewise_or_exact<Word, Word, Word>(
      [](Word first, Word second, Word third, bool& doubtful) {
        const auto of = [&](Word a, Word b, Word c) {
          return unless_outside<oob>(a, b, brain_fma(a, b, c, doubtful));
        };
        return by_halves(of, first, second, third);
      },
      [](Word first, Word second, Word third) {
        const auto of = [](Word a, Word b, Word c) {
          return unless_outside<oob>(a, b, exact_brain_fma(a, b, c));
        };
        return by_halves(of, first, second, third);
      });
}

Semantic of_bf16(std::string_view op, bool pair) {
  if (op == "add") return of_bf16<Add>(pair);
  if (op == "sub") return of_bf16<Sub>(pair);
  if (op == "mul") return of_bf16<Mul>(pair);
  return op == "fma" ? brain_fma<false>(pair) : nullptr;
}

}  // namespace

Semantic host_half(std::string_view op, std::string_view type, bool ftz) {
  const bool pair = type.ends_with("x2");
  if (type.starts_with("bf16")) return ftz ? nullptr : of_bf16(op, pair);
  if (op == "add") return of_f16<Add>(pair, ftz);
  if (op == "sub") return of_f16<Sub>(pair, ftz);
  if (op == "mul") return of_f16<Mul>(pair, ftz);
  return op == "fma" ? of_f16<Fma>(pair, ftz) : nullptr;
}

Semantic host_fma_out_of_bounds(std::string_view type) {
  const bool pair = type.ends_with("x2");
  if (type.starts_with("bf16")) return brain_fma<true>(pair);
  return elementwise<NoPlan, Short, 3>(pair, [](const NoPlan&, Short a, Short b, Short c) {
    const Word result = Half::round(Fma::of(Half::widen(a), Half::widen(b), Half::widen(c)));
    return static_cast<Short>(unless_outside<true>(a, b, result));
  });
}

}  // namespace ptxloom::exec
