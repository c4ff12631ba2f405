// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <type_traits>

#include "base/numeric_format.hpp"
#include "exec/arithmetic/clamped.hpp"
#include "exec/arithmetic/host_float.hpp"
#include "exec/arithmetic/select.hpp"

// min, max, neg, abs and copysign for every float type, as bit operations.
namespace ptxloom::exec {
namespace {

/// A format whose bit patterns are values of Bits, with masks for the modifiers of an instruction.
template <class T, const base::FloatFormat& f>
struct Format {
  using Bits = T;
  static constexpr Bits kSign = static_cast<Bits>(f.sign(true)), kInfinity = static_cast<Bits>(f.infinity()),
                        kNan = static_cast<Bits>(f.nan), kAll = static_cast<Bits>(~Bits{0});
  static constexpr bool kKeepsNan = f.is_f64();

  static bool is_nan(Bits value) { return static_cast<Bits>(value & ~kSign) > kInfinity; }
  static Bits quiet(Bits value) { return static_cast<Bits>(f.quiet(value)); }
  /// `subnormal`: the bits that subnormal values keep.
  static Bits flushed(Bits value, Bits subnormal) {
    return select(static_cast<Bits>(value & kInfinity) == 0, static_cast<Bits>(value & subnormal), value);
  }
};

template <class F>
struct Choice {
  using Bits = typename F::Bits;
  using Signed = std::make_signed_t<Bits>;

  Bits reverse = 0;     ///< all ones for max: reverses the order
  Bits kept = F::kAll;  ///< of an operand: without the sign if magnitudes are compared
  Bits subnormal = F::kAll;
  Bits sign_product = 0;  ///< the sign bit: the result gets the sign of the product
  Bits spread = 0;        ///< all ones: one NaN makes the result NaN

  Bits prepared(Bits value) const { return static_cast<Bits>(F::flushed(value, subnormal) & kept); }
  // Orders patterns like their values: -0 is below +0.
  Signed rank(Bits value) const {
    const auto fill = static_cast<Bits>(static_cast<Signed>(value) >> (8 * sizeof(Bits) - 1));
    return static_cast<Signed>(value ^ static_cast<Bits>(fill & ~F::kSign) ^ reverse);
  }
  Bits operator()(Bits first, Bits second) const {
    const Bits a = prepared(first), b = prepared(second);
    const bool a_nan = F::is_nan(a), b_nan = F::is_nan(b);
    const Bits chosen = select(a_nan | (!b_nan & (rank(b) <= rank(a))), b, a);
    const auto result = static_cast<Bits>(chosen | ((first ^ second) & sign_product));
    const Bits nan = F::kKeepsNan ? F::quiet(b) : F::kNan;
    const Bits none =
        static_cast<Bits>(mask_of<Bits>(a_nan & b_nan) | (mask_of<Bits>(a_nan | b_nan) & spread));
    return static_cast<Bits>((nan & none) | (result & ~none));
  }
};

/// Two operands and no modifier except .NaN; all masks are constants.
template <class F, bool is_min, bool spreads>
Semantic plain_choice(bool pair) {
  using Bits = typename F::Bits;
  return elementwise<NoPlan, Bits, 2>(pair, [](const NoPlan&, Bits a, Bits b) {
    constexpr Choice<F> choice{.reverse = is_min ? Bits{0} : F::kAll, .spread = spreads ? F::kAll : Bits{0}};
    return choice(a, b);
  });
}
template <class F>
Semantic plain_choice(bool pair, const MinMaxWords& words) {
  if (words.propagate_nan)
    return words.is_min ? plain_choice<F, true, true>(pair) : plain_choice<F, false, true>(pair);
  return words.is_min ? plain_choice<F, true, false>(pair) : plain_choice<F, false, false>(pair);
}

template <class F>
bool emit_choice(Decoder& decoder, bool pair, const MinMaxWords& words) {
  using Bits = typename F::Bits;
  if (!words.abs && !words.xorsign && !words.ftz && !words.three)
    return decoder.emit(plain_choice<F>(pair, words)), true;
  const Choice<F> choice{
      .reverse = words.is_min ? Bits{0} : F::kAll,
      .kept = words.abs || words.xorsign ? static_cast<Bits>(~F::kSign) : F::kAll,
      .subnormal = words.ftz ? F::kSign : F::kAll,
      .sign_product = words.xorsign ? F::kSign : Bits{0},
      .spread = words.propagate_nan ? F::kAll : Bits{0},
  };
  const Semantic run =
      words.three
          ? elementwise<Choice<F>, Bits, 3>(
                pair, [](const Choice<F>& f, Bits a, Bits b, Bits c) { return f(f(a, b), c); })
          : elementwise<Choice<F>, Bits, 2>(pair, [](const Choice<F>& f, Bits a, Bits b) { return f(a, b); });
  decoder.emit(run, std::make_shared<Choice<F>>(choice));
  return true;
}

template <class F, bool is_abs, bool ftz>
Semantic sign_change(bool pair) {
  using Bits = typename F::Bits;
  return elementwise<NoPlan, Bits, 1>(pair, [](const NoPlan&, Bits a) {
    const Bits value = ftz ? F::flushed(a, F::kSign) : a;
    const auto result = static_cast<Bits>(is_abs ? value & ~F::kSign : value ^ F::kSign);
    return select(F::is_nan(a), F::kKeepsNan ? F::quiet(a) : F::kNan, result);
  });
}

template <class F>
Semantic sign_change(bool pair, bool is_abs, bool ftz) {
  if (ftz) return is_abs ? sign_change<F, true, true>(pair) : sign_change<F, false, true>(pair);
  return is_abs ? sign_change<F, true, false>(pair) : sign_change<F, false, false>(pair);
}

/// f.template operator()<Format>(whether it is a pair); false for other types.
template <class F>
bool with_format(std::string_view type, F f) {
  const bool pair = type.ends_with("x2");
  if (pair) type.remove_suffix(2);
  if (type == "f32" && !pair) return f.template operator()<Format<std::uint32_t, base::kF32>>(false);
  if (type == "f64") return f.template operator()<Format<std::uint64_t, base::kF64>>(false);
  if (type == "f16") return f.template operator()<Format<std::uint16_t, base::kF16>>(pair);
  return type == "bf16" && f.template operator()<Format<std::uint16_t, base::kBf16>>(pair);
}

}  // namespace

bool emit_host_minmax(Decoder& decoder, std::string_view type, const MinMaxWords& words) {
  return with_format(type, [&]<class F>(bool pair) { return emit_choice<F>(decoder, pair, words); });
}

bool emit_host_sign(Decoder& decoder, std::string_view type, bool is_abs, bool ftz) {
  return with_format(
      type, [&]<class F>(bool pair) { return decoder.emit(sign_change<F>(pair, is_abs, ftz)), true; });
}

Semantic host_copysign(std::string_view type) {
  const auto of = []<class T>() {
    return lanewise<T, T>([](T a, T b) {
      constexpr T sign = T{1} << (8 * sizeof(T) - 1);
      return static_cast<T>((a & sign) | (b & ~sign));
    });
  };
  return type == "f64" ? of.template operator()<std::uint64_t>() : of.template operator()<std::uint32_t>();
}

}  // namespace ptxloom::exec
