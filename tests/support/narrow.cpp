// SPDX-License-Identifier: Apache-2.0
#include "support/narrow.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ptxloom::test::narrow {
namespace {

/// The meaning of the topmost patterns.
enum class Top : std::uint8_t {
  ieee,     ///< the topmost exponent: infinity and NaNs
  nan,      ///< all ones: NaN
  numbers,  ///< numbers like all others
};

struct Format {
  std::string_view name;
  bool has_sign;
  int exponent, mantissa;  ///< bits
  int bias;
  Top top;
  std::uint64_t nan;     ///< the result of PTX's cvt for a NaN
  int below = 0;         ///< ignored bits below the mantissa
  bool has_zero = true;  ///< exponent 0 is zero and subnormals; otherwise it is like any other
};

constexpr std::array kFormats{
    Format{"f16", true, 5, 10, 15, Top::ieee, 0x7fff},
    Format{"bf16", true, 8, 7, 127, Top::ieee, 0x7fff},
    Format{"tf32", true, 8, 10, 127, Top::ieee, 0x7fff'e000, 13},
    Format{"e4m3", true, 4, 3, 7, Top::nan, 0x7f},
    Format{"e5m2", true, 5, 2, 15, Top::ieee, 0x7f},
    Format{"e3m2", true, 3, 2, 3, Top::numbers, 0x1f},
    Format{"e2m3", true, 2, 3, 1, Top::numbers, 0x1f},
    Format{"e2m1", true, 2, 1, 1, Top::numbers, 0x7},
    Format{"ue4m3", false, 4, 3, 7, Top::nan, 0x7f},
    Format{"ue5m3", false, 5, 3, 15, Top::nan, 0xff},
    Format{"ue8m0", false, 8, 0, 127, Top::nan, 0xff, 0, false},
};

const Format* find(Type type) {
  const auto found = std::ranges::find(kFormats, type.name, &Format::name);
  return found == kFormats.end() ? nullptr : &*found;
}

constexpr std::uint64_t ones(int bits) { return bits >= 64 ? ~0ULL : (1ULL << bits) - 1; }

/// 2^exponent, which must be a normal f64. std::ldexp took 4 % of test_gemm's time.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// The value of a pattern without its sign. The topmost exponent counts as a number, not as infinity or NaN.
double number(const Format& f, std::uint64_t magnitude) {
  const auto exponent = static_cast<int>(magnitude >> f.mantissa);
  const double fraction = static_cast<double>(magnitude & ones(f.mantissa)) * power_of_two(-f.mantissa);
  if (exponent == 0 && f.has_zero) return fraction * power_of_two(1 - f.bias);
  return (1 + fraction) * power_of_two(exponent - f.bias);
}

std::uint64_t largest(const Format& f) {
  const std::uint64_t all = ones(f.exponent + f.mantissa);
  if (f.top == Top::ieee) return all - ones(f.mantissa) - 1;
  return f.top == Top::nan ? all - 1 : all;
}

double decode(const Format& f, std::uint64_t bits) {
  bits >>= f.below;
  const std::uint64_t magnitude = bits & ones(f.exponent + f.mantissa);
  const double sign = f.has_sign && (bits >> (f.exponent + f.mantissa) & 1) != 0 ? -1 : 1;
  if (magnitude <= largest(f)) return sign * number(f, magnitude);
  if (f.top == Top::ieee && magnitude == largest(f) + 1)
    return sign * std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

std::uint64_t encode(const Format& f, double value, Overflow overflow) {
  if (std::isnan(value)) return f.nan;
  const std::uint64_t sign =
      std::signbit(value) ? 1ULL << (f.exponent + f.mantissa) << f.below : std::uint64_t{0};
  if (sign != 0 && !f.has_sign) throw std::invalid_argument(std::string(f.name) + " has no sign");
  const double wanted = std::abs(value);
  // The last pattern whose value is not above x. It may be the successor of the largest number, which stands
  // for everything out of range.
  std::uint64_t low = 0, high = largest(f) + 2;
  while (high - low > 1) {
    const std::uint64_t middle = (low + high) / 2;
    (number(f, middle) <= wanted ? low : high) = middle;
  }
  if (low <= largest(f)) {
    const double down = wanted - number(f, low), up = number(f, low + 1) - wanted;
    if (up < down || (up == down && low % 2 == 1)) ++low;
  }
  if (low <= largest(f)) return sign | low << f.below;
  if (overflow == Overflow::finite || f.top == Top::numbers) return sign | largest(f) << f.below;
  return f.top == Top::ieee ? sign | (largest(f) + 1) << f.below : sign | ones(f.exponent + f.mantissa);
}

}  // namespace

double decode(Type type, std::uint64_t bits) {
  if (const Format* f = find(type)) return decode(*f, bits);
  if (type == f32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (type == f64) return std::bit_cast<double>(bits);
  bits &= ones(type.bits);
  if (!type.is_signed()) return static_cast<double>(bits);
  const int unused = 64 - type.bits;
  return static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
}

std::uint64_t encode(Type type, double value, Overflow overflow) {
  if (const Format* f = find(type)) return encode(*f, value, overflow);
  if (type == f32)
    return std::isnan(value) ? 0x7fff'ffff : std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (type == f64) return std::isnan(value) ? 0xfff8'0000'0000'0000 : std::bit_cast<std::uint64_t>(value);
  const double most = std::ldexp(1, type.is_signed() ? type.bits - 1 : type.bits) - 1;
  const double whole = std::clamp(std::nearbyint(value), type.is_signed() ? -most - 1 : 0, most);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(whole)) & ones(type.bits);
}

std::uint64_t load(Type type, std::span<const std::byte> packed, std::size_t index) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < type.bits; ++i) {
    const std::size_t at = index * type.bits + i;
    bits |= (std::to_integer<std::uint64_t>(packed[at / 8]) >> (at % 8) & 1) << i;
  }
  return bits;
}

std::vector<double> values(Type type, std::span<const std::byte> packed) {
  std::vector<double> values(packed.size() * 8 / type.bits);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = decode(type, load(type, packed, i));
  return values;
}

void store(Type type, std::span<std::byte> packed, std::size_t index, std::uint64_t bits) {
  for (std::size_t i = 0; i < type.bits; ++i) {
    const std::size_t at = index * type.bits + i;
    const auto bit = static_cast<std::byte>(1U << (at % 8));
    packed[at / 8] = (bits >> i & 1) != 0 ? packed[at / 8] | bit : packed[at / 8] & ~bit;
  }
}

}  // namespace ptxloom::test::narrow
