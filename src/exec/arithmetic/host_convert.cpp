// SPDX-License-Identifier: Apache-2.0
#include "exec/arithmetic/host_convert.hpp"

#include <cmath>

#include "base/numeric_format.hpp"
#include "exec/arithmetic/clamped.hpp"
#include "exec/arithmetic/directed.hpp"

// cvt to f32 and f64, and to integral values. NaN is handled as by convert() in src/base.
namespace ptxloom::exec {
namespace {

using Word = std::uint32_t;
using Short = std::uint16_t;
using Bits = std::uint64_t;

/// Converts a NaN from f32 to f64: keeps sign and payload, makes it quiet.
Bits doubled(Word single) {
  const Bits nan =
      Bits{single & kSign32} << 32 | kInfinity64 | Bits{1} << 51 | Bits{single & 0x7f'ffff} << 29;
  const auto number = static_cast<double>(std::bit_cast<float>(single));
  return select(is_nan(single), nan, std::bit_cast<Bits>(number));
}
/// The reverse; keeps the upper part of the payload.
Word halved_nan(Bits value) {
  return static_cast<Word>(value >> 32 & kSign32) | kInfinity32 | 1u << 22 |
         static_cast<Word>(value >> 29 & 0x7f'ffff);
}

template <Rounding rounding, bool flush>
Word single_of_double(Bits value) {
  const Word number = std::bit_cast<Word>(finished<rounding, flush>(std::bit_cast<double>(value)));
  return select((value & ~kSign64) > kInfinity64, halved_nan(value), number);
}

Semantic single_from_double(const Modifiers& m) {
  return with_rounding(m.rounding, [&]<Rounding r>() {
    return m.ftz ? lanewise<Bits>([](Bits value) { return single_of_double<r, true>(value); })
                 : lanewise<Bits>([](Bits value) { return single_of_double<r, false>(value); });
  });
}

template <class T>
Semantic single_from_integer(Rounding rounding) {
  if constexpr (sizeof(T) < 4) {
    return lanewise<T>([](T value) { return static_cast<float>(value); });
  } else if constexpr (sizeof(T) == 4) {
    if (rounding == Rounding::rn) return lanewise<T>([](T value) { return static_cast<float>(value); });
    return with_rounding(rounding, []<Rounding r>() {
      return lanewise<T>([](T value) { return rounded<r>(static_cast<double>(value)); });
    });
  } else {
    return with_rounding(rounding, []<Rounding r>() {
      return lanewise<T>([](T value) {
        const WideInteger wide = wide_integer(value);
        return rounded<r>(to_odd(wide.nearest, wide.rest));
      });
    });
  }
}

template <class T>
Semantic double_from_integer(Rounding rounding) {
  if constexpr (sizeof(T) < 8) {
    return lanewise<T>([](T value) { return static_cast<double>(value); });
  } else {
    return with_rounding(rounding, []<Rounding r>() {
      return lanewise<T>([](T value) {
        const WideInteger wide = wide_integer(value);
        return step<r>(std::bit_cast<Bits>(wide.nearest), wide.rest < 0, wide.rest > 0);
      });
    });
  }
}

// f32 to f32, as a move of bits.
Word moved(Word value, bool ftz) {
  const Word flushed = cleared((value & kInfinity32) == 0, ~kSign32, value);
  return ftz ? select(is_nan(value), Word{kNan32}, flushed) : value;
}

Semantic to_single(const Type& from, const Modifiers& m) {
  if (from == f64) return single_from_double(m);
  if (from == f32) {
    return m.ftz ? lanewise<Word>([](Word value) { return moved(value, true); })
                 : lanewise<Word>([](Word value) { return value; });
  }
  if (from == f16) return lanewise<Short>([](Short value) { return canonical(Half::widen(value)); });
  if (from == bf16) {
    return m.ftz ? lanewise<Short>([](Short value) { return moved(Word{value} << 16, true); })
                 : lanewise<Short>([](Short value) { return Word{value} << 16; });
  }
  return with_any_integer(from.name, [&]<class T>() { return single_from_integer<T>(m.rounding); });
}

Semantic to_double(const Type& from, const Modifiers& m) {
  if (from == f64) return lanewise<Bits>([](Bits value) { return value; });
  if (from == f32) {
    return m.ftz ? lanewise<Word>([](Word value) { return doubled(moved(value, true)); })
                 : lanewise<Word>([](Word value) { return doubled(value); });
  }
  if (from == f16)
    return lanewise<Short>([](Short value) { return doubled(std::bit_cast<Word>(Half::widen(value))); });
  if (from == bf16) return lanewise<Short>([](Short value) { return doubled(Word{value} << 16); });
  return with_any_integer(from.name, [&]<class T>() { return double_from_integer<T>(m.rounding); });
}

template <class Format>
Semantic integral_half(Rounding rounding) {
  return with_rounding(rounding, []<Rounding r>() {
    return lanewise<Short>(
        [](Short value) { return static_cast<Short>(Format::round(integral<r>(Format::widen(value)))); });
  });
}

template <bool flush>
Semantic integral_single(Rounding rounding) {
  return with_rounding(rounding, []<Rounding r>() {
    return lanewise<float>(
        [](float value) { return canonical(integral<r>(flush ? flush_input(value) : value)); });
  });
}

Semantic integral_double(Rounding rounding) {
  return with_rounding(rounding, []<Rounding r>() {
    return lanewise<Bits>([](Bits value) {
      const Bits number = std::bit_cast<Bits>(integral<r>(std::bit_cast<double>(value)));
      return select((value & ~kSign64) > kInfinity64, value | Bits{1} << 51, number);
    });
  });
}

Semantic to_integral(const Type& type, const Modifiers& m) {
  if (type == f32) return m.ftz ? integral_single<true>(m.rounding) : integral_single<false>(m.rounding);
  if (type == f64) return integral_double(m.rounding);
  return type == f16 ? integral_half<Half>(m.rounding) : integral_half<Brain>(m.rounding);
}

}  // namespace

bool emit_to_wide_float(Decoder& decoder, const Type& to, const Type& from, const Modifiers& modifiers) {
  const Semantic run = to == f32 ? to_single(from, modifiers) : to_double(from, modifiers);
  if (run == nullptr) return false;
  emit_clamped(decoder, run, clamp_of(to.name, modifiers));
  return true;
}

void emit_to_integral(Decoder& decoder, const Type& type, const Modifiers& modifiers) {
  emit_clamped(decoder, to_integral(type, modifiers), clamp_of(type.name, modifiers));
}

bool emit_host_conversion(Decoder& decoder, const Type& to, const Type& from, bool integral,
                          const Modifiers& modifiers) {
  if (to.is_integer() && !from.is_float()) return false;
  if (to.is_integer()) return emit_float_to_integer(decoder, to, from, modifiers), true;
  if (integral && to == from) return emit_to_integral(decoder, to, modifiers), true;
  if (to == f16 || to == bf16) return emit_to_half(decoder, to, from, modifiers);
  return (to == f32 || to == f64) && emit_to_wide_float(decoder, to, from, modifiers);
}

}  // namespace ptxloom::exec
