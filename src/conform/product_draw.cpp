// SPDX-License-Identifier: Apache-2.0
#include "conform/product_draw.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/numeric_format.hpp"
#include "ptxloom/numeric.hpp"

namespace ptxloom::conform_kernels {
namespace {

using Random = std::mt19937_64;

// How far low products may lie below high ones: beyond the widest window, and for f64 beyond a product's last
// bit.
constexpr int kFarthest = 40, kFarthestOfF64 = 112;
// Distances at which chips are known to truncate, which therefore get more sets than others: bits below the
// largest term, and the last bit if all terms are tiny, below the accumulator's smallest normal number.
constexpr std::array kWindows = {13, 24, 25, 35, 53};
constexpr int kLastBit = 29, kLastBitMost = 33;

int between(Random& random, int least, int most) {
  return least + static_cast<int>(random() % static_cast<unsigned>(std::max(most - least, 0) + 1));
}
bool percent(Random& random, int share) { return static_cast<int>(random() % 100) < share; }
bool coin(Random& random) { return (random() & 1) != 0; }

/// Exponents of the numbers of a type, from its smallest subnormal to its largest.
struct Range {
  explicit Range(const Type& type) {
    const base::FloatFormat& format = *base::find_format(type);
    normal = format.min_exponent();
    mantissa = format.mantissa_bits;
    least = format.has_zero ? normal - mantissa : normal;
    most = std::ilogb(decode(type, format.max_finite()));
  }
  int clamp(int exponent) const { return std::clamp(exponent, least, most); }
  int least = 0, normal = 0, most = 0, mantissa = 0;
};

std::uint64_t encoded(const Type& type, double value) {
  return encode(type, value, Rounding::rz, Saturation::satfinite);
}
std::uint64_t zero(const Type& type, Random& random) {
  return type.is_float() ? encoded(type, coin(random) ? 0.0 : -0.0) : 0;
}

double signed_power(Random& random, int exponent, bool full) {
  const double magnitude = full ? 1 + static_cast<double>(random() >> 12) * 0x1p-52 : 1;
  return std::ldexp(coin(random) ? magnitude : -magnitude, exponent);
}

std::uint64_t integer_factor(const Type& type, bool high, Random& random) {
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - type.bits);
  const std::uint64_t top = type.is_signed() ? std::uint64_t{1} << (type.bits - 1) : 0;
  if (high) return coin(random) ? top : all ^ top;  // the smallest and the largest
  constexpr std::array<std::uint64_t, 4> kSmall = {1, ~std::uint64_t{0}, 2, 3};
  return (type.is_signed() ? kSmall[random() % 4] : 1 + random() % 3) & all;
}

}  // namespace

ProductDraw::ProductDraw(const Profile& profile, const ProductTypes& types, std::uint64_t seed)
    : profile_(&profile), shared_(types.shared), jitter_(profile.jitter) {
  Random random(seed);
  place_kinds(random);
  if (profile.edge) {
    more_zeros_ = between(random, 0, 2) * 20;
    jitter_ = between(random, 0, 3);
    full_lows_ = 25;
  }
  const bool often_zero = profile.addend == Addend::subnormal || profile.addend == Addend::cancelling;
  addend_zero_ = profile.addend == Addend::zero || (often_zero && percent(random, 40));
  addend_full_ = profile.addend != Addend::cancelling && coin(random);
  if (types.sum.is_float() && types.left.is_float()) place_floats(types, random);
}

void ProductDraw::place_kinds(Random& random) {
  aligned_ = percent(random, 70);
  for (Kind& kind : kinds_) {
    const int share = between(random, 0, 99);
    kind = share < profile_->zeros                     ? (coin(random) ? Kind::zero_left : Kind::zero_right)
           : share < profile_->zeros + profile_->highs ? Kind::high
                                                       : Kind::low;
  }
}

void ProductDraw::place_floats(const ProductTypes& types, Random& random) {
  const Range left(types.left), right(types.right), sum(types.sum);
  const int least = left.least + right.least, most = left.most + right.most;
  int height = 0;
  switch (profile_->height) {
    case Height::anywhere:
      height = between(random, std::max(least, sum.least), std::min(most, sum.most - 4));
      break;
    case Height::least:
      height = sum.least - (percent(random, 75) ? 1 : 0);
      break;
    case Height::subnormal:
      height = left.normal + right.normal - 2;
      break;
  }
  int of_factors = height;
  if (types.scaled) {  // the scales provide the range that the factors lack
    of_factors = between(random, -4, 4);
    scale_exponent_ = (height - std::clamp(of_factors, least, most)) / 2;
  }
  of_factors = std::clamp(of_factors, least, most);
  height = of_factors + 2 * scale_exponent_;
  const bool tie = profile_->addend == Addend::edge && coin(random);
  const int distance =
      std::clamp(draw_distance(types.sum, height, tie, random), 1, std::max(of_factors - least, 1));

  const bool even = types.shared || profile_->height == Height::subnormal;
  // Subnormals are aligned as if they were normal, so usually they are not among the largest.
  const bool normal = of_factors >= left.normal + right.normal && percent(random, 75);
  const int lowest = normal ? left.normal : left.least, other = normal ? right.normal : right.least;
  left_.high = even ? of_factors / 2
                    : between(random, std::max(lowest, of_factors - right.most),
                              std::min(left.most, of_factors - other));
  right_.high = of_factors - left_.high;
  const int first = even ? distance / 2
                         : between(random, std::max(0, distance - (right_.high - right.least)),
                                   std::min(distance, left_.high - left.least));
  left_.low = left_.high - first;
  right_.low = right_.high - (distance - first);
  // The larger it is, the more visible it becomes if zeros took part in the alignment.
  const bool large = aligned_ && !types.shared && coin(random);
  left_.beside_zero = large ? left.most : left_.high;
  right_.beside_zero = large ? right.most : right_.high;
  place_addend(types.sum, height, distance, tie, random);
}

int ProductDraw::draw_distance(const Type& type, int height, bool tie, Random& random) const {
  const Range sum(type);
  if (coin(random) && profile_->height == Height::anywhere)
    return kWindows[random() % kWindows.size()] + between(random, -1, 1) - (tie ? sum.mantissa + 1 : 0);
  if (coin(random) && profile_->height == Height::least)
    return height - (sum.normal - between(random, kLastBit, kLastBitMost));
  return between(random, 1, type == f64 ? kFarthestOfF64 : kFarthest);
}

void ProductDraw::place_addend(const Type& type, int height, int distance, bool tie, Random& random) {
  const Range sum(type);
  switch (profile_->addend) {
    case Addend::zero:
      break;
    case Addend::anything:
      addend_exponent_ = height + between(random, -30, 10);
      break;
    case Addend::edge:
      addend_exponent_ = height + (tie ? sum.mantissa + 1 : between(random, -30, 30));
      break;
    case Addend::subnormal:
      addend_exponent_ = between(random, sum.least, sum.normal);
      break;
    case Addend::cancelling:
      addend_exponent_ = coin(random) ? height + between(random, 0, 2) : height - distance;
      break;
  }
  addend_exponent_ = sum.clamp(addend_exponent_);
}

std::uint64_t ProductDraw::factor(bool left, const Type& type, Kind kind, Random& random) const {
  const bool is_zero = kind == Kind::zero_left || kind == Kind::zero_right;
  if (is_zero && (shared_ ? percent(random, 75) : left == (kind == Kind::zero_left)))
    return zero(type, random);
  if (percent(random, more_zeros_)) return zero(type, random);
  const bool high = kind != Kind::low;
  if (!type.is_float()) return integer_factor(type, high, random);
  const Exponents& side = left ? left_ : right_;
  const int exponent = is_zero ? side.beside_zero : high ? side.high : side.low - between(random, 0, jitter_);
  const bool full = percent(random, high ? profile_->full_highs : full_lows_);
  return encoded(type, signed_power(random, Range(type).clamp(exponent), full));
}

std::uint64_t ProductDraw::addend(const Type& type, Random& random) const {
  if (addend_zero_) return zero(type, random);
  return encoded(type, signed_power(random, addend_exponent_, addend_full_));
}

// 32 bits. At the ends of the range a sum wraps or saturates.
std::uint64_t ProductDraw::integer_addend(Random& random) const {
  constexpr auto kMost = static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max());
  const auto any = static_cast<std::uint32_t>(random());
  switch (profile_->addend) {
    case Addend::zero:
      return profile_->height == Height::least && coin(random) ? kMost - 1 + any % 4 : 0;
    case Addend::anything:
      return any;
    case Addend::edge:  // within 2^15 of the largest value, or of the smallest right after it
      return kMost - 0x8000 + any % 0x1'0000;
    case Addend::subnormal:
    case Addend::cancelling:
      break;
  }
  return addend_zero_ ? 0 : any % 5 - 2;
}

std::uint64_t ProductDraw::value(Role role, const Type& type, std::size_t k, Random& random) const {
  if (role == Role::scale) {
    const int jitter = percent(random, 60) ? 0 : between(random, -jitter_, 3);
    const double significand = 1 + static_cast<double>(random() % 8) / 8;
    return encoded(type, std::ldexp(significand, Range(type).clamp(scale_exponent_ + jitter)));
  }
  if (role == Role::addend)
    return type.is_float() ? addend(type, random) : integer_addend(random) & 0xffff'ffff;
  const Kind kind = kinds_[(aligned_ ? k : random()) % kKinds];
  return factor(role == Role::left, type, kind, random);
}

}  // namespace ptxloom::conform_kernels
