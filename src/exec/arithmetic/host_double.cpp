// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "base/numeric_arithmetic.hpp"
#include "exec/arithmetic/directed.hpp"
#include "exec/arithmetic/elementwise.hpp"
#include "exec/arithmetic/host_float.hpp"

// f64 in any rounding direction. The error of the nearest result is known exactly unless it is subnormal:
// always for sums, by a fused multiply-add for products, quotients and roots (for an fma see Boldo and
// Muller, "Exact and approximated error of the FMA", 2011). If it may be subnormal, the result is in doubt
// and the exact arithmetic of src/base decides.
namespace ptxloom::exec {
namespace {

using Bits = std::uint64_t;

Bits bits(double value) { return std::bit_cast<Bits>(value); }
bool is_nan(Bits value) { return (value & ~kSign64) > kInfinity64; }
Bits quiet(Bits value) { return value | Bits{1} << 51; }

/// The result for numbers, or the NaN that results: the second operand's takes precedence over the first's.
Bits or_nan(double result, Bits first, Bits second) {
  const Bits own = select(result != result, base::kF64.nan, bits(result));
  return select(is_nan(second), quiet(second), select(is_nan(first), quiet(first), own));
}

/// Magnitudes whose products, and the errors of those, neither overflow nor underflow.
bool is_moderate(double value) { return (std::fabs(value) >= 0x1p-900) & (std::fabs(value) < 0x1p1000); }
bool is_finite(double value) { return std::fabs(value) < std::numeric_limits<double>::infinity(); }
bool is_product(double a, double b) { return is_finite(a) & is_finite(b) & (a != 0) & (b != 0); }

template <Rounding rounding>
Bits directed(double nearest, double rest) {
  return step<rounding>(bits(nearest), rest < 0, rest > 0);
}

template <Rounding rounding>
Bits sum(Bits first, Bits second, double a, double b) {
  const double nearest = a + b;
  if constexpr (rounding == Rounding::rn) return or_nan(nearest, first, second);
  const bool is_first = std::fabs(a) >= std::fabs(b);
  const double large = select(is_first, a, b), small = select(is_first, b, a);
  const double rest = small - (nearest - large);  // also next to an infinity that finite summands round to
  const double signed_zero = with_sign_of_zero<rounding>(nearest, a, b);
  return or_nan(std::bit_cast<double>(directed<rounding>(signed_zero, rest)), first, second);
}

struct Add {
  template <Rounding rounding>
  static Bits of(Bits a, Bits b, bool&) {
    return sum<rounding>(a, b, std::bit_cast<double>(a), std::bit_cast<double>(b));
  }
  static Bits exact(Bits a, Bits b, Modifiers m) { return base::add(base::kF64, a, b, m); }
};
struct Sub {
  template <Rounding rounding>
  static Bits of(Bits a, Bits b, bool&) {
    return sum<rounding>(a, b, std::bit_cast<double>(a), -std::bit_cast<double>(b));
  }
  static Bits exact(Bits a, Bits b, Modifiers m) { return base::sub(base::kF64, a, b, m); }
};
struct Mul {
  template <Rounding rounding>
  static Bits of(Bits first, Bits second, bool& doubtful) {
    const auto a = std::bit_cast<double>(first), b = std::bit_cast<double>(second);
    const double nearest = a * b;
    if constexpr (rounding == Rounding::rn) return or_nan(nearest, first, second);
    doubtful = !is_moderate(nearest) & is_product(a, b);
    return or_nan(std::bit_cast<double>(directed<rounding>(nearest, std::fma(a, b, -nearest))), first,
                  second);
  }
  static Bits exact(Bits a, Bits b, Modifiers m) { return base::mul(base::kF64, a, b, m); }
};
struct Div {
  template <Rounding rounding>
  static Bits of(Bits first, Bits second, bool& doubtful) {
    const auto a = std::bit_cast<double>(first), b = std::bit_cast<double>(second);
    const double nearest = a / b;
    if constexpr (rounding == Rounding::rn) return or_nan(nearest, second, first);
    doubtful = !(is_moderate(nearest) & is_moderate(a)) & is_product(a, b);
    const double left = std::fma(-nearest, b, a), rest = select(b < 0, -left, left);
    return or_nan(std::bit_cast<double>(directed<rounding>(nearest, rest)), second, first);
  }
  static Bits exact(Bits a, Bits b, Modifiers m) { return base::div(base::kF64, a, b, m); }
};

template <class Op>
Semantic binary(Rounding rounding) {
  return with_rounding(rounding, []<Rounding r>() {
    return lanewise_or_exact<Bits, Bits>(
        [](Bits a, Bits b, bool& doubtful) { return Op::template of<r>(a, b, doubtful); },
        [](Bits a, Bits b) { return Op::exact(a, b, {.rounding = r}); });
  });
}

Bits one() { return base::kF64.one(); }

Semantic reciprocal(Rounding rounding) {
  return with_rounding(rounding, []<Rounding r>() {
    return lanewise_or_exact<Bits>([](Bits a, bool& doubtful) { return Div::of<r>(one(), a, doubtful); },
                                   [](Bits a) { return Div::exact(one(), a, {.rounding = r}); });
  });
}

template <Rounding rounding>
Bits square_root(Bits first, bool& doubtful) {
  const auto a = std::bit_cast<double>(first);
  const double nearest = std::sqrt(a);
  if constexpr (rounding == Rounding::rn) return or_nan(nearest, first, first);
  doubtful = (a > 0) & is_finite(a) & !is_moderate(a);
  const double rest = std::fma(-nearest, nearest, a);
  return or_nan(std::bit_cast<double>(directed<rounding>(nearest, rest)), first, first);
}

Semantic sqrt(Rounding rounding) {
  return with_rounding(rounding, []<Rounding r>() {
    return lanewise_or_exact<Bits>([](Bits a, bool& doubtful) { return square_root<r>(a, doubtful); },
                                   [](Bits a) { return base::sqrt(base::kF64, a, {.rounding = r}); });
  });
}

/// The error of a * b + c relative to the nearest result, in two parts of which the first decides.
double rest_of_fma(double a, double b, double c, double nearest) {
  const double product = a * b, low = std::fma(a, b, -product);
  const double small = c + low, smaller = rest_of_sum(c, low, small);
  const double large = product + small, left = rest_of_sum(product, small, large);
  return ((large - nearest) + left) + smaller;
}

template <Rounding rounding>
Bits fma(Bits first, Bits second, Bits third, bool& doubtful) {
  const auto a = std::bit_cast<double>(first), b = std::bit_cast<double>(second),
             c = std::bit_cast<double>(third);
  double nearest = std::fma(a, b, c);
  if constexpr (rounding != Rounding::rn) {
    const bool is_addend = (c == 0) | is_moderate(c);
    doubtful = !(is_moderate(a * b) & is_addend) & is_product(a, b) & is_finite(c);
    const double rest = rest_of_fma(a, b, c, nearest);
    nearest = with_sign_of_zero<rounding>(nearest, a * b, c);
    nearest = std::bit_cast<double>(directed<rounding>(nearest, rest));
  }
  const Bits own = or_nan(nearest, first, third);
  return select(is_nan(second), quiet(second), own);
}

Semantic fma(Rounding rounding) {
  return with_rounding(rounding, []<Rounding r>() {
    return lanewise_or_exact<Bits, Bits, Bits>(
        [](Bits a, Bits b, Bits c, bool& doubtful) { return fma<r>(a, b, c, doubtful); },
        [](Bits a, Bits b, Bits c) { return base::fma(base::kF64, a, b, c, {.rounding = r}); });
  });
}

}  // namespace

Semantic host_double(std::string_view op, Rounding rounding) {
  if (op == "add") return binary<Add>(rounding);
  if (op == "sub") return binary<Sub>(rounding);
  if (op == "mul") return binary<Mul>(rounding);
  if (op == "div") return binary<Div>(rounding);
  if (op == "fma") return fma(rounding);
  if (op == "rcp") return reciprocal(rounding);
  return op == "sqrt" ? sqrt(rounding) : nullptr;
}

}  // namespace ptxloom::exec
