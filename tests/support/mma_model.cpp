// SPDX-License-Identifier: Apache-2.0
#include "support/mma_model.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <vector>

namespace ptxloom::test {
namespace {

/// The arithmetic of one element.
class Element {
 public:
  Element(const MmaModel& model, const FloatBits& a, const FloatBits& b, const FloatBits& sum, bool half)
      : model_(model), a_(a), b_(b), sum_(sum), half_(half) {}

  std::uint32_t operator()(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                           std::uint32_t c) const {
    const std::size_t size = a.size();
    const auto in_order = [&](std::size_t i) {
      return i < size / 2 ? i / 2 * 4 + i % 2 : (i - size / 2) / 2 * 4 + 2 + i % 2;
    };
    const std::size_t chunk = model_.through_f16 ? size / 2 : model_.chunk != 0 ? model_.chunk : size;
    std::uint32_t sum = model_.through_f16 ? 0 : c;
    std::vector<Term> terms;
    terms.reserve(chunk + 1);
    for (std::size_t k = 0; k < size; k += chunk) {
      terms.assign(1, unpack(sum_, sum));
      for (std::size_t i = k; i < k + chunk; ++i) {
        const std::size_t at = model_.through_f16 ? in_order(i) : i;
        terms.push_back(product(factor(a_, a[at]), factor(b_, b[at])));
      }
      sum = add(terms);
    }
    return model_.through_f16 ? add_ieee(sum, c) : sum;
  }

 private:
  enum class Kind { number, infinity, nan };
  struct Term {
    Kind kind = Kind::number;
    bool negative = false;
    std::int64_t significand = 0;
    int last = 0;      // exponent of its last bit
    int exponent = 0;  // exponent that it is aligned by
  };

  static Term unpack(const FloatBits& format, std::uint32_t bits) {
    bits >>= format.padding;
    const std::uint32_t fields = bits & ((1u << (format.exponent_bits + format.mantissa_bits)) - 1);
    const std::uint32_t fraction = fields & ((1u << format.mantissa_bits) - 1),
                        field = fields >> format.mantissa_bits, ones = (1u << format.exponent_bits) - 1;
    Term term;
    term.negative = (bits >> (format.exponent_bits + format.mantissa_bits) & 1) != 0;
    if (format.infinities && field == ones) {
      term.kind = fraction == 0 ? Kind::infinity : Kind::nan;
      term.significand = 1;
      return term;
    }
    if (!format.infinities && format.nans &&
        fields == (1u << (format.exponent_bits + format.mantissa_bits)) - 1)
      term.kind = Kind::nan;
    term.exponent = static_cast<int>(std::max(field, 1u)) - format.bias();
    term.significand = fraction + (field == 0 ? 0u : 1u << format.mantissa_bits);
    term.last = term.exponent - format.mantissa_bits;
    return term;
  }

  Term factor(const FloatBits& format, std::uint32_t bits) const {
    Term term = unpack(format, bits);
    if (model_.through_f16 && term.kind == Kind::number)
      term.exponent = term.significand == 0 ? -14 : std::max(term.last + width(term.significand) - 1, -14);
    return term;
  }

  static Term product(const Term& a, const Term& b) {
    const bool nan = a.kind == Kind::nan || b.kind == Kind::nan,
               infinity = a.kind == Kind::infinity || b.kind == Kind::infinity;
    Term term{.kind = Kind::number,
              .negative = a.negative != b.negative,
              .significand = a.significand * b.significand,
              .last = a.last + b.last,
              .exponent = a.exponent + b.exponent};
    if (nan || (infinity && term.significand == 0))
      term.kind = Kind::nan;
    else if (infinity)
      term.kind = Kind::infinity;
    return term;
  }

  static int width(std::int64_t number) {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(number)));
  }

  std::uint32_t special(Kind kind, bool negative) const {
    if (kind == Kind::nan) return half_ ? 0x7fff : 0x7fff'ffff;
    return half_ ? (negative ? 0xfc00 : 0x7c00) : (negative ? 0xff80'0000 : 0x7f80'0000);
  }

  std::uint32_t add(const std::vector<Term>& terms) const {
    bool plus = false, minus = false;
    int largest = model_.least;
    for (const Term& term : terms) {
      if (term.kind == Kind::nan) return special(Kind::nan, false);
      if (term.kind == Kind::infinity)
        (term.negative ? minus : plus) = true;
      else if (term.significand != 0 || model_.zeros_align)
        largest = std::max(largest, term.exponent);
    }
    if (plus && minus) return special(Kind::nan, false);
    if (plus || minus) return special(Kind::infinity, minus);
    const int unit = largest - model_.window;
    std::int64_t sum = 0;
    for (const Term& term : terms) sum += term.negative ? -cut(term, unit) : cut(term, unit);
    return rounded(sum, unit, half_ ? 10 : model_.result_bits, half_);
  }

  /// The magnitude of a term in units of 2^unit.
  std::int64_t cut(const Term& term, int unit) const {
    if (term.significand == 0) return 0;
    const int up = term.last - unit;
    if (up >= 0) return term.significand << up;
    if (-up > 62) return 0;
    const std::int64_t half = model_.terms_nearest ? std::int64_t{1} << (-up - 1) : 0;
    return (term.significand + half) >> -up;
  }

  std::uint32_t rounded(std::int64_t sum, int unit, int kept, bool nearest) const {
    if (sum == 0) return 0;
    const std::int64_t magnitude = std::abs(sum);
    const int least = sum_.least(), exponent = std::max(unit + width(magnitude) - 1, least);
    const int dropped = exponent - kept - unit;
    std::int64_t number = dropped <= 0 ? magnitude << -dropped : dropped > 62 ? 0 : magnitude >> dropped;
    if (nearest && dropped > 0) {
      const std::int64_t rest = magnitude - (dropped > 62 ? 0 : number << dropped);
      const std::int64_t half = dropped > 62 ? magnitude + 1 : std::int64_t{1} << (dropped - 1);
      if (rest > half || (rest == half && (number & 1) != 0)) ++number;
    }
    number <<= sum_.mantissa_bits - kept;
    const std::int64_t bits = number + (std::int64_t{exponent - least} << sum_.mantissa_bits);
    const std::int64_t infinity = ((std::int64_t{1} << sum_.exponent_bits) - 1) << sum_.mantissa_bits;
    if (bits >= infinity) return special(Kind::infinity, sum < 0);
    const std::uint32_t sign = sum < 0 && bits != 0 ? 1u << (sum_.exponent_bits + sum_.mantissa_bits) : 0;
    return static_cast<std::uint32_t>(bits) | sign;
  }

  /// HADD2 or FADD.
  std::uint32_t add_ieee(std::uint32_t x, std::uint32_t y) const {
    if (!half_) {
      const float sum = std::bit_cast<float>(x) + std::bit_cast<float>(y);
      return sum != sum ? special(Kind::nan, false) : std::bit_cast<std::uint32_t>(sum);
    }
    const Term a = unpack(sum_, x), b = unpack(sum_, y);
    if (a.kind == Kind::nan || b.kind == Kind::nan) return special(Kind::nan, false);
    if (a.kind == Kind::infinity && b.kind == Kind::infinity && a.negative != b.negative)
      return special(Kind::nan, false);
    if (a.kind == Kind::infinity || b.kind == Kind::infinity)
      return special(Kind::infinity, a.kind == Kind::infinity ? a.negative : b.negative);
    if (a.significand == 0 && b.significand == 0) return x & y;  // the sign of a sum of zeros
    const std::int64_t p = a.significand << (a.last + 24), q = b.significand << (b.last + 24);
    return rounded((a.negative ? -p : p) + (b.negative ? -q : q), -24, 10, true);
  }

  const MmaModel& model_;
  const FloatBits &a_, &b_, &sum_;
  bool half_;
};

FloatBits float_bits(std::string_view type) {
  struct Row {
    std::string_view type;
    FloatBits bits;
  };
  static constexpr Row kRows[] = {
      {"f32", {8, 23, true, true}},      {"f16", {5, 10, true, true}},   {"bf16", {8, 7, true, true}},
      {"tf32", {8, 10, true, true, 13}}, {"e5m2", {5, 2, true, true}},   {"e4m3", {4, 3, false, true}},
      {"e3m2", {3, 2, false, false}},    {"e2m3", {2, 3, false, false}}, {"e2m1", {2, 1, false, false}}};
  for (const Row& row : kRows)
    if (row.type == type) return row.bits;
  std::abort();
}

}  // namespace

MmaModelRow::MmaModelRow(const MmaModel& model, std::string_view a, std::string_view b, std::string_view sum)
    : model_(model), a_(float_bits(a)), b_(float_bits(b)), sum_(float_bits(sum)), half_(sum == "f16") {}

std::uint32_t MmaModelRow::operator()(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                                      std::uint32_t c) const {
  return Element(model_, a_, b_, sum_, half_)(a, b, c);
}

}  // namespace ptxloom::test
