// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "exec/arithmetic/clamped.hpp"
#include "exec/arithmetic/directed.hpp"
#include "exec/arithmetic/host_convert.hpp"

// cvt from floats to integers: rounds as f64, clamps, and extracts the integer's bits. The frequent f32 to 32
// bits stays in vectors of f32.
namespace ptxloom::exec {
namespace {

using Word = std::uint32_t;
using Short = std::uint16_t;
using Bits = std::uint64_t;

/// For 8 to 32 bits.
struct SmallPlan {
  double lowest = 0, highest = 0;
  Word nan = 0;
  Word subnormal = ~Word{0};  ///< the bits that are kept of a subnormal f32
};
Word to_small(const SmallPlan& plan, double integral) {
  const double raised = select(integral < plan.lowest, plan.lowest, integral),
               clamped = select(raised > plan.highest, plan.highest, raised);
  const auto low = static_cast<Word>(std::bit_cast<Bits>(clamped + 0x1.8p52));  // the unit is the last bit
  return select(integral != integral, plan.nan, low);
}

/// For 64 bits: values outside [lowest, end) become the smallest or largest.
struct WidePlan {
  double lowest = 0, end = 0;
  Bits least = 0, most = 0;
  Word subnormal = ~Word{0};
};
Bits to_wide(const WidePlan& plan, double integral) {
  const auto low_bits = [](double value) { return std::bit_cast<Bits>(value + 0x1.8p52); };
  const double high = std::floor(integral * 0x1p-32), low = integral - high * 0x1p32;
  const Bits inside = (low_bits(high) << 32) + (low_bits(low) & 0xffff'ffff),
             clamped =
                 select(integral >= plan.end, plan.most, select(integral < plan.lowest, plan.least, inside));
  return select(integral != integral, kSign64, clamped);
}

struct FromHalf {
  using Stored = Short;
  static double of(Short value, Word) { return Half::widen(value); }
};
struct FromBrain {
  using Stored = Short;
  static double of(Short value, Word) { return Brain::widen(value); }
};
struct FromSingle {
  using Stored = Word;
  static double of(Word value, Word subnormal) {
    return std::bit_cast<float>(value & select((value & kInfinity32) == 0, subnormal, ~Word{0}));
  }
};
struct FromDouble {
  using Stored = Bits;
  static double of(Bits value, Word) { return std::bit_cast<double>(value); }
};

template <class From>
Semantic small(Rounding rounding) {
  return with_rounding(rounding, []<Rounding r>() {
    return planned<SmallPlan, typename From::Stored>([](const SmallPlan& plan, typename From::Stored value) {
      return to_small(plan, integral<r>(From::of(value, plan.subnormal)));
    });
  });
}
template <class From>
Semantic wide(Rounding rounding) {
  return with_rounding(rounding, []<Rounding r>() {
    return planned<WidePlan, typename From::Stored>([](const WidePlan& plan, typename From::Stored value) {
      return to_wide(plan, integral<r>(From::of(value, plan.subnormal)));
    });
  });
}

// Selects by the source type; `from` is f16, bf16, f32 or f64.
Semantic run_of(const Type& to, const Type& from, Rounding rounding) {
  const bool is_wide = to.bits == 64;
  if (from == f16) return is_wide ? wide<FromHalf>(rounding) : small<FromHalf>(rounding);
  if (from == bf16) return is_wide ? wide<FromBrain>(rounding) : small<FromBrain>(rounding);
  if (from == f32) return is_wide ? wide<FromSingle>(rounding) : small<FromSingle>(rounding);
  return is_wide ? wide<FromDouble>(rounding) : small<FromDouble>(rounding);
}

// Clamps an integral value to the range of T; NaN gives 0.
template <class T>
T clamped(float value) {
  constexpr float lowest = static_cast<float>(std::numeric_limits<T>::min());
  constexpr float end = 2.0f * static_cast<float>(std::uint32_t{1} << (std::numeric_limits<T>::digits - 1));
  const bool inside = (value >= lowest) & (value < end);
  const T within = static_cast<T>(inside ? value : 0.0f);
  if (value >= end) return std::numeric_limits<T>::max();
  return value < lowest ? std::numeric_limits<T>::min() : within;
}

template <class T>
Semantic from_single(Rounding rounding, bool ftz) {
  const bool flushes =
      ftz && (rounding == Rounding::rm || rounding == Rounding::rp);  // otherwise they become 0 anyway
  return with_rounding(rounding, [&]<Rounding r>() {
    return flushes ? lanewise<float>([](float value) { return clamped<T>(integral<r>(flush_input(value))); })
                   : lanewise<float>([](float value) { return clamped<T>(integral<r>(value)); });
  });
}

}  // namespace

void emit_float_to_integer(Decoder& decoder, const Type& to, const Type& from, const Modifiers& modifiers) {
  const bool is_signed = to.is_signed();
  const Word subnormal = modifiers.ftz && from == f32 ? kSign32 : ~Word{0};
  if (from == f32 && to.bits == 32) {
    decoder.emit(is_signed ? from_single<std::int32_t>(modifiers.rounding, modifiers.ftz)
                           : from_single<Word>(modifiers.rounding, modifiers.ftz));
    return;
  }
  const Semantic run = run_of(to, from, modifiers.rounding);
  if (to.bits == 64) {
    const WidePlan plan{.lowest = is_signed ? -0x1p63 : 0,
                        .end = is_signed ? 0x1p63 : 0x1p64,
                        .least = is_signed ? kSign64 : 0,
                        .most = is_signed ? kSign64 - 1 : ~Bits{0},
                        .subnormal = subnormal};
    return emit_clamped(decoder, run, nullptr, plan);
  }
  const double end = std::ldexp(1.0, is_signed ? to.bits - 1 : to.bits);
  Word nan = 0;  // for f64 only the top bit, sign-extended
  if (from == f64) nan = is_signed ? ~Word{0} << (to.bits - 1) : Word{1} << (to.bits - 1);
  const SmallPlan plan{
      .lowest = is_signed ? -end : 0, .highest = end - 1, .nan = nan, .subnormal = subnormal};
  emit_clamped(decoder, run, nullptr, plan);
}

}  // namespace ptxloom::exec
