// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/numeric_format.hpp"
#include "exec/arithmetic/select.hpp"
#include "ptxloom/numeric.hpp"

// f32 to any float of at most 19 bits, in any rounding direction, as bit operations whose counts and masks
// depend on the format and the modifiers, so one loop serves them all. A value that is normal in the format
// is the f32 with another bias and a shorter mantissa. Any other value is a multiple of the smallest one;
// adding a power of two whose last bit has that weight rounds it to a multiple.
namespace ptxloom::exec {

struct Narrowing {
  using Word = std::uint32_t;

  Word shift = 16, rebias = 0, padding = 0;
  Word even = 0;                     ///< to nearest: ties to even
  Word add = 0, add_negative = 0;    ///< added to a magnitude before the shift
  Word least_normal = 0;             ///< in f32; below it:
  float unit = 0, end = 0;           ///< the smallest value of the format, and 2^23 times it
  Word down = 0, down_negative = 0;  ///< 1 if the direction is towards zero
  Word up = 0, up_negative = 0;      ///< 1 if it is away from zero
  Word zeros = 0;                    ///< f32 magnitudes up to this one become pattern 0
  Word most = 0;                     ///< the largest finite pattern; those above become:
  Word beyond = 0, beyond_negative = 0, infinity = 0;
  Word nan = 0, nan_kept = 0;  ///< `nan`, added to these bits of the NaN
  Word sign_shift = 16, signs = 0;
  Word zero_signs = ~Word{0};     ///< 0: zeros have no minus sign
  Word kept_negative = ~Word{0};  ///< 0: negative values become 0
  Word subnormal = ~Word{0};      ///< the bits that are kept of a subnormal input

  /// `has_own_range`: the format's exponent range differs from that of f32; `directed`: not to nearest.
  template <bool has_own_range, bool directed>
  Word of(Word bits) const {
    constexpr Word sign_bit = 0x8000'0000, f32_infinity = 0x7f80'0000;
    bits &= select((bits & f32_infinity) == 0, subnormal, ~Word{0});
    const Word negative = sign_mask(bits), magnitude = bits & ~sign_bit, value = magnitude - rebias;
    const auto by_sign = [&](Word positive, Word other) {
      return directed ? (positive & ~negative) | (other & negative) : positive;
    };
    Word result = (value + by_sign(add, add_negative) + (even & (value >> shift))) >> shift;
    if constexpr (has_own_range) {
      const auto exact = std::bit_cast<float>(magnitude);
      Word multiple = std::bit_cast<Word>(exact + end) - std::bit_cast<Word>(end);
      if constexpr (directed) {
        const float back = static_cast<float>(static_cast<std::int32_t>(multiple & 0xff'ffff)) * unit;
        multiple +=
            when(back < exact, by_sign(up, up_negative)) - when(back > exact, by_sign(down, down_negative));
      }
      result = select(magnitude < least_normal, multiple, result);
    } else {
      result = when(magnitude > zeros, result);
    }
    result = select(result > most, by_sign(beyond, beyond_negative), result);
    result = select(magnitude == f32_infinity, infinity, result);
    const Word sign = bits >> sign_shift & signs & (zero_signs | when(result != 0, ~Word{0}));
    result = (result | sign) & (kept_negative | ~negative);
    return select(magnitude > f32_infinity, nan + (bits & nan_kept), result << padding);
  }
};

/// Narrowing::of with the template arguments it needs.
template <bool has_own_range, bool directed>
struct Narrow {
  static std::uint32_t of(const Narrowing& narrowing, std::uint32_t bits) {
    return narrowing.of<has_own_range, directed>(bits);
  }
};

/// f.template operator()<Narrow<...>>() with the one that fits.
template <class F>
auto with_narrowing(const Narrowing& narrowing, F f) {
  const bool directed = narrowing.even == 0;
  if (narrowing.rebias != 0) {
    return directed ? f.template operator()<Narrow<true, true>>()
                    : f.template operator()<Narrow<true, false>>();
  }
  return directed ? f.template operator()<Narrow<false, true>>()
                  : f.template operator()<Narrow<false, false>>();
}

/// Rounds to the format like finish() in src/base, without .sat.
Narrowing narrowing_to(const base::FloatFormat& format, const Modifiers& modifiers);

/// Converts a double that stands for an exact value to a float that does so for formats of up to 22 bits:
/// rounded to odd.
inline float float_to_odd(double exact) {
  const auto nearest = static_cast<float>(exact);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const double back = nearest, magnitude = std::fabs(exact), found = std::fabs(back);
  const bool beyond = found > magnitude, inexact = beyond | (found < magnitude);
  return std::bit_cast<float>((bits - std::uint32_t{beyond}) | std::uint32_t{inexact});
}

}  // namespace ptxloom::exec
