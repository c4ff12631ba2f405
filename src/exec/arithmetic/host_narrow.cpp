// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "exec/arithmetic/clamped.hpp"
#include "exec/arithmetic/directed.hpp"
#include "exec/arithmetic/host_convert.hpp"
#include "exec/arithmetic/narrow.hpp"

// cvt to floats of at most 19 bits through f32 (narrow.hpp); f16 is in host_to_half.cpp.
namespace ptxloom::exec {
namespace {

using Word = std::uint32_t;
using Short = std::uint16_t;
using Bits = std::uint64_t;

/// An f32 that stands for the exact value: rounded to odd.
Word single_of(double exact) { return std::bit_cast<Word>(float_to_odd(exact)); }
template <class T>
Word single_of(T value) {
  if constexpr (sizeof(T) > 4) {
    const WideInteger wide = wide_integer(value);
    return single_of(to_odd(wide.nearest, wide.rest));
  } else {
    const auto bits = static_cast<Word>(value);
    constexpr Word end = 0x0100'0000;  // up to here all integers are f32 values; beyond, multiples of 256
    const bool is_small = std::is_signed_v<T> ? bits + end <= 2 * end : bits <= end;
    const Word odd = (bits & ~Word{0xff}) | when((bits & 0xff) != 0, Word{0x100});
    return std::bit_cast<Word>(static_cast<float>(static_cast<T>(select(is_small, bits, odd))));
  }
}

template <class N, class T>
Semantic from_integer() {
  return planned<Narrowing, T>([](const Narrowing& n, T value) { return N::of(n, single_of(value)); });
}

template <class N>
Semantic from_single() {
  return planned<Narrowing, Word>([](const Narrowing& n, Word value) { return N::of(n, value); });
}
template <class N, class Format>
Semantic from_half() {
  return planned<Narrowing, Short>(
      [](const Narrowing& n, Short value) { return N::of(n, std::bit_cast<Word>(Format::widen(value))); });
}

template <class N>
Semantic from_type(const Type& from) {
  if (from == f32) return from_single<N>();
  if (from == f16) return from_half<N, Half>();
  if (from == bf16) return from_half<N, Brain>();
  return with_any_integer(from.name, []<class T>() { return from_integer<N, T>(); });
}

/// From f64; a NaN keeps its sign and the top of its payload.
struct FromDouble : Narrowing {
  Word payload_shift = 42, quiet = 0;
};
template <class N>
Semantic from_double() {
  return planned<FromDouble, Bits>([](const FromDouble& n, Bits value) {
    const auto sign = static_cast<Word>(value >> 48 & 0x8000);
    const auto payload = static_cast<Word>((value & ((Bits{1} << 52) - 1)) >> n.payload_shift);
    const Word number = N::of(n, single_of(std::bit_cast<double>(value)));
    return select((value & ~kSign64) > kInfinity64, sign | payload | n.quiet, number);
  });
}

bool emit_from_double(Decoder& decoder, const base::FloatFormat& format, const Modifiers& modifiers,
                      Semantic clamp) {
  const FromDouble plan{narrowing_to(format, modifiers), static_cast<Word>(52 - format.mantissa_bits),
                        static_cast<Word>(format.quiet(format.infinity()))};
  emit_clamped(decoder, with_narrowing(plan, []<class N>() { return from_double<N>(); }), clamp, plan);
  return true;
}

/// Results are `stride` bits apart.
struct PairNarrowing : Narrowing {
  Word stride = 16;
};

template <class N>
Semantic two_singles() {
  return planned<PairNarrowing, Word, Word>(
      [](const PairNarrowing& n, Word high, Word low) { return N::of(n, high) << n.stride | N::of(n, low); });
}
template <class N, class Format>
Semantic pair_of() {
  return planned<PairNarrowing, Word>([](const PairNarrowing& n, Word pair) {
    const auto of = [&](Word half) { return N::of(n, std::bit_cast<Word>(Format::widen(half))); };
    return of(pair >> 16) << n.stride | of(pair & 0xffff);
  });
}

/// The frequent case: f32 to bf16, to nearest or towards zero.
template <bool nearest, bool satfinite>
Word brain_of(float value) {
  const auto bits = std::bit_cast<Word>(value);
  const Word rounded = nearest ? Brain::round(value) : select(is_nan(bits), Brain::kNan, bits >> 16);
  return rounded - (satfinite & ((rounded & 0x7fff) == Brain::kInfinity));  // the largest finite value
}

/// One result, or two of which the first is the upper half.
template <bool nearest, bool satfinite>
Semantic to_brain(bool two) {
  if (two) {
    return lanewise<float, float>([](float high, float low) {
      return brain_of<nearest, satfinite>(high) << 16 | brain_of<nearest, satfinite>(low);
    });
  }
  return lanewise<float>([](float value) { return static_cast<Short>(brain_of<nearest, satfinite>(value)); });
}

bool emit_brain(Decoder& decoder, bool two, const Modifiers& modifiers) {
  const bool nearest = modifiers.rounding == Rounding::rn,
             satfinite = modifiers.saturation == Saturation::satfinite;
  if (modifiers.ftz || !(nearest || modifiers.rounding == Rounding::rz)) return false;
  const Semantic run = nearest ? (satfinite ? to_brain<true, true>(two) : to_brain<true, false>(two))
                               : (satfinite ? to_brain<false, true>(two) : to_brain<false, false>(two));
  emit_clamped(decoder, run, clamp_of("bf16", modifiers));
  return true;
}

}  // namespace

bool emit_to_half(Decoder& decoder, const Type& to, const Type& from, const Modifiers& modifiers) {
  const base::FloatFormat& format = *base::find_format(to);
  const Semantic clamp = clamp_of(to.name, {.saturation = modifiers.saturation});
  if (from == f64) return emit_from_double(decoder, format, modifiers, clamp);
  if (to == f16) return emit_to_f16(decoder, from, 1, modifiers);
  Modifiers own = modifiers;
  own.ftz = modifiers.ftz && from == f32;
  if (from == f32 && emit_brain(decoder, false, own)) return true;
  const Narrowing narrowing = narrowing_to(format, own);
  const Semantic run = with_narrowing(narrowing, [&]<class N>() { return from_type<N>(from); });
  if (run == nullptr) return false;
  emit_clamped(decoder, run, clamp, narrowing);
  return true;
}

void emit_narrowing(Decoder& decoder, const Type& to, const Type& from, const PackedShape& shape,
                    const Modifiers& modifiers) {
  if (!modifiers.pzo) {
    if (to == f16 && emit_to_f16(decoder, from, shape.inputs, modifiers)) return;
    if (from == f32 && to == bf16 && emit_brain(decoder, shape.inputs == 2, modifiers)) return;
  }
  const Narrowing narrowing = narrowing_to(*base::find_format(to), modifiers);
  if (shape.inputs == 1 && shape.elements == 1) {
    const Semantic run = with_narrowing(narrowing, []<class N>() { return from_single<N>(); });
    return emit_clamped(decoder, run, nullptr, narrowing);
  }
  const Semantic run = with_narrowing(narrowing, [&]<class N>() {
    if (shape.inputs == 2) return two_singles<N>();
    return from == bf16 ? pair_of<N, Brain>() : pair_of<N, Half>();
  });
  emit_clamped(decoder, run, nullptr, PairNarrowing{narrowing, static_cast<Word>(stride_of(to))});
}

}  // namespace ptxloom::exec
