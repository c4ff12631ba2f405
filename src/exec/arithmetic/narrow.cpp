// SPDX-License-Identifier: Apache-2.0
#include "exec/arithmetic/narrow.hpp"

#include <cmath>

namespace ptxloom::exec {
namespace {

using Word = std::uint32_t;

constexpr int kSingleBias = 127, kSingleMantissa = 23;

/// How the magnitude of a value of this sign is rounded.
enum class Way : std::uint8_t { nearest, half_away, inward, outward };
Way way_of(Rounding rounding, bool negative) {
  switch (rounding) {
    case Rounding::rn:
      return Way::nearest;
    case Rounding::rna:
      return Way::half_away;
    case Rounding::rz:
      return Way::inward;
    case Rounding::rm:
      return negative ? Way::outward : Way::inward;
    default:
      return negative ? Way::inward : Way::outward;
  }
}

/// Added to a magnitude before its last `shift` bits are dropped.
Word addend(Way way, Word shift) {
  const Word half = Word{1} << (shift - 1);
  if (way == Way::nearest) return half - 1;
  if (way == Way::half_away) return half;
  return way == Way::inward ? 0 : 2 * half - 1;
}

Word beyond(const base::FloatFormat& format, Way way, Saturation saturation) {
  const std::uint64_t most = format.max_finite() >> format.padding;
  if (saturation == Saturation::satfinite || way == Way::inward || format.specials == base::Specials::none)
    return static_cast<Word>(most);
  return static_cast<Word>((format.specials == base::Specials::ieee ? format.infinity() : format.nan) >>
                           format.padding);
}

}  // namespace

Narrowing narrowing_to(const base::FloatFormat& format, const Modifiers& modifiers) {
  const Way positive = way_of(modifiers.rounding, false),
            negative = format.has_sign ? way_of(modifiers.rounding, true) : positive;
  const auto shift = static_cast<Word>(kSingleMantissa - format.mantissa_bits);
  Narrowing n{.shift = shift,
              .rebias = static_cast<Word>(kSingleBias - format.bias) << kSingleMantissa,
              .padding = static_cast<Word>(format.padding),
              .even = modifiers.rounding == Rounding::rn,
              .add = addend(positive, shift),
              .add_negative = addend(negative, shift)};
  if (format.bias != kSingleBias) {  // otherwise its subnormals are those of f32
    n.least_normal = static_cast<Word>(kSingleBias + format.min_exponent()) << kSingleMantissa;
    n.unit = std::ldexp(1.0f, format.min_exponent() - format.mantissa_bits);
    n.end = std::ldexp(n.unit, kSingleMantissa);
    n.down = positive == Way::inward;
    n.down_negative = negative == Way::inward;
    n.up = positive == Way::outward;
    n.up_negative = negative == Way::outward;
  }
  if (!format.has_zero) n.zeros = 0x0040'0000;  // 2^-127, the smallest value of ue8m0
  n.most = static_cast<Word>(format.max_finite() >> format.padding);
  n.beyond = beyond(format, positive, modifiers.saturation);
  n.beyond_negative = beyond(format, negative, modifiers.saturation);
  n.infinity = beyond(format, Way::nearest, modifiers.saturation);
  n.nan = static_cast<Word>(format.nan);
  if (format.padding != 0 && modifiers.rounding == Rounding::rna) {  // tf32: see convert() in src/base
    n.nan_kept = ~((Word{1} << format.padding) - 1);
    n.nan = modifiers.saturation == Saturation::satfinite ? 0u - (Word{1} << format.padding) : 0;
  }
  n.sign_shift = static_cast<Word>(31 - format.sign_bit());
  n.signs = format.has_sign ? Word{1} << format.sign_bit() : 0;
  if (modifiers.relu) n.kept_negative = 0;
  if (modifiers.pzo) n.zero_signs = 0;
  if (modifiers.ftz) n.subnormal = 0x8000'0000;
  return n;
}

}  // namespace ptxloom::exec
