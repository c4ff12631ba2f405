// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/numeric.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>

#include "base/numeric_arithmetic.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom {
namespace base {

const FloatFormat* find_format(Type type) {
  struct Entry {
    Type type;
    const FloatFormat* format;
  };
  static constexpr std::array<Entry, 13> kFormats{{{f16, &kF16},
                                                   {bf16, &kBf16},
                                                   {f32, &kF32},
                                                   {tf32, &kTf32},
                                                   {f64, &kF64},
                                                   {e4m3, &kE4m3},
                                                   {e5m2, &kE5m2},
                                                   {e2m1, &kE2m1},
                                                   {e2m3, &kE2m3},
                                                   {e3m2, &kE3m2},
                                                   {ue8m0, &kUe8m0},
                                                   {ue4m3, &kUe4m3},
                                                   {ue5m3, &kUe5m3}}};
  if (!type.is_float()) return nullptr;
  const auto found = std::ranges::find(kFormats, type, &Entry::type);
  return found == kFormats.end() ? nullptr : found->format;
}

}  // namespace base

namespace {

using base::FloatFormat;
using base::Number;

constexpr std::uint64_t low_bits(int count) { return count >= 64 ? ~0ull : (1ull << count) - 1; }

// The meaning of a type's bits: a float of a format, or an integer if `format` is null.
struct Element {
  explicit Element(Type element_type) : type(element_type), format(base::find_format(element_type)) {
    if (type.bits > 64 || type.lanes != 1 || (type.is_float() && format == nullptr)) {
      throw Error(ErrorKind::usage, "type-has-no-value",
                  "the type " + std::string(type.name) + " is not one number",
                  "use the type of its elements, such as f16 for f16x2");
    }
  }

  Type type;
  const FloatFormat* format;
};

Number unpack_integer(Type type, std::uint64_t bits) {
  bits &= low_bits(type.bits);
  const bool negative = type.is_signed() && ((bits >> (type.bits - 1)) & 1) != 0;
  return base::from_integer(negative, negative ? (~bits & low_bits(type.bits)) + 1 : bits);
}

Number unpack(const Element& element, std::uint64_t bits) {
  return element.format != nullptr ? base::unpack(*element.format, bits) : unpack_integer(element.type, bits);
}

// Converts an integral number to an integer type, clamped to its range. Not for NaN.
std::uint64_t clamp_to(Type type, const Number& number) {
  const std::uint64_t max = low_bits(type.is_signed() ? type.bits - 1 : type.bits);
  if (number.kind == Number::Kind::zero) return 0;
  const bool beyond = number.kind == Number::Kind::infinite || number.exponent > 64;
  const base::uint128 magnitude = beyond ? base::uint128{1} << 64 : number.significand << number.exponent;
  if (!number.negative) return static_cast<std::uint64_t>(std::min<base::uint128>(magnitude, max));
  if (!type.is_signed()) return 0;
  const auto negated = static_cast<std::uint64_t>(std::min<base::uint128>(magnitude, base::uint128{max} + 1));
  return (0 - negated) & low_bits(type.bits);
}

// PTX ISA, cvt: NaN becomes zero, or the integer with only the top bit set if a 64-bit type is involved.
std::uint64_t integer_of_nan(Type to, const FloatFormat& from) {
  return to.bits == 64 || from.is_f64() ? 1ull << (to.bits - 1) : 0;
}

std::uint64_t to_integer(Type to, const FloatFormat& from, const Number& number, Rounding rounding) {
  if (number.is_nan()) return integer_of_nan(to, from);
  return clamp_to(to, base::to_integral(number, rounding));
}

// The sign and the top of the payload of a NaN in another format, made quiet.
std::uint64_t kept_nan(const FloatFormat& to, const FloatFormat& from, std::uint64_t bits) {
  const int wider = to.mantissa_bits - from.mantissa_bits;
  const std::uint64_t payload = bits & low_bits(from.mantissa_bits), sign = bits & from.sign(true);
  return to.quiet(to.infinity() | to.sign(sign != 0) | (wider > 0 ? payload << wider : payload >> -wider));
}

// The NaN that results from converting a NaN to another float type, or the same, as on an H200. cvt without
// modifiers from f32 to f32, f64 to f64 and bf16 to f32 moves bits; .rna to tf32 truncates some, and
// .satfinite subtracts one from the rest; if f64 is involved the payload is kept, except that .ftz loses it
// first; all others give the format's own NaN.
std::uint64_t convert_nan(const FloatFormat& to, const FloatFormat& from, std::uint64_t bits,
                          const Modifiers& modifiers) {
  if (modifiers.saturation == Saturation::sat) return 0;
  if (&to == &base::kTf32 && modifiers.rounding == Rounding::rna) {
    const std::uint64_t unit = 1ull << to.padding;
    return (bits & ~(unit - 1)) - (modifiers.saturation == Saturation::satfinite ? unit : 0);
  }
  const bool flushed = modifiers.ftz && !from.is_f64();
  if (&to == &from && from.is_f64()) return bits;
  if (to.is_f64() || from.is_f64()) return kept_nan(to, from, flushed ? from.nan : bits);
  const bool moved = &to == &base::kF32 && (&from == &base::kF32 || &from == &base::kBf16) && !flushed;
  return moved ? bits << (to.mantissa_bits - from.mantissa_bits) : to.nan;
}

std::uint64_t encode(const Element& element, double value, Rounding rounding, Saturation saturation) {
  const Number number = base::unpack(base::kF64, std::bit_cast<std::uint64_t>(value));
  if (element.format == nullptr) return to_integer(element.type, base::kF64, number, rounding);
  return base::finish(*element.format, number, {.rounding = rounding, .saturation = saturation});
}

double decode(const Element& element, std::uint64_t bits) {
  return std::bit_cast<double>(
      base::round(base::kF64, unpack(element, bits), Rounding::rn, Saturation::none));
}

// The number of elements that fit in this many bytes. Eight of them take whole bytes, so no product can
// overflow.
std::size_t room(Type type, std::size_t bytes) {
  return bytes / type.bits * 8 + bytes % type.bits * 8 / type.bits;
}

[[noreturn]] void refuse_size(Type type, std::size_t bytes) {
  throw Error(ErrorKind::usage, "buffer-too-small",
              "a buffer of " + std::to_string(bytes) + " bytes holds only " +
                  std::to_string(room(type, bytes)) + " elements of type " + std::string(type.name),
              "use packed_bytes(type, count) bytes");
}

// The bits of element `index`; reads whole bytes if elements consist of them.
std::uint64_t load(Type type, const std::byte* packed, std::size_t index) {
  std::uint64_t bits = 0;
  if (type.bits % 8 == 0) {
    const std::size_t size = type.bits / 8u;
    for (std::size_t i = 0; i < size; ++i)
      bits |= std::to_integer<std::uint64_t>(packed[index * size + i]) << (8 * i);
    return bits;
  }
  for (std::size_t i = 0; i < type.bits; ++i) {
    const std::size_t at = index * type.bits + i;
    bits |= (std::to_integer<std::uint64_t>(packed[at / 8]) >> (at % 8) & 1) << i;
  }
  return bits;
}

void store(Type type, std::byte* packed, std::size_t index, std::uint64_t bits) {
  if (type.bits % 8 == 0) {
    const std::size_t size = type.bits / 8u;
    for (std::size_t i = 0; i < size; ++i) packed[index * size + i] = static_cast<std::byte>(bits >> (8 * i));
    return;
  }
  for (std::size_t i = 0; i < type.bits; ++i) {
    const std::size_t at = index * type.bits + i;
    const std::byte mask = std::byte{1} << (at % 8);
    packed[at / 8] = (bits >> i & 1) != 0 ? packed[at / 8] | mask : packed[at / 8] & ~mask;
  }
}

}  // namespace

double decode(Type type, std::uint64_t bits) { return decode(Element(type), bits); }

double first_infinite(Type type) {
  if (type == f16) return 0x1.ffep15;
  if (type == bf16) return 0x1.ffp127;
  if (type == f32) return 0x1.ffffffp127;
  return type == e5m2 ? 0x1.ep15 : std::numeric_limits<double>::infinity();
}

std::uint64_t encode(Type type, double value, Rounding rounding, Saturation saturation) {
  return encode(Element(type), value, rounding, saturation);
}

std::uint64_t convert(Type to, Type from, std::uint64_t bits, Modifiers modifiers) {
  const Element source(from);
  const Element target(to);
  const bool flushed = modifiers.ftz && source.format == &base::kF32;
  const Number number = unpack(source, flushed ? base::flush_subnormal(base::kF32, bits) : bits);
  if (target.format != nullptr) {
    if (number.is_nan()) return convert_nan(*target.format, *source.format, bits, modifiers);
    modifiers.ftz = modifiers.ftz && target.format == &base::kF32;
    return base::finish(*target.format, number, modifiers);
  }
  if (source.format != nullptr) return to_integer(to, *source.format, number, modifiers.rounding);
  if (modifiers.saturation != Saturation::none) return clamp_to(to, number);
  const auto magnitude = static_cast<std::uint64_t>(number.significand);
  return (number.negative ? 0 - magnitude : magnitude) & low_bits(to.bits);
}

std::uint64_t round_to_integral(Type type, std::uint64_t bits, Modifiers modifiers) {
  const Element element(type);
  if (element.format == nullptr) return bits;
  if (modifiers.ftz) bits = base::flush_subnormal(*element.format, bits);
  const Number number = base::to_integral(base::unpack(*element.format, bits), modifiers.rounding);
  const bool keeps = element.format->is_f64() && modifiers.saturation != Saturation::sat;
  if (number.is_nan() && keeps) return element.format->quiet(bits);
  return base::finish(*element.format, number, modifiers);
}

std::size_t packed_bytes(Type type, std::size_t count) {
  return count / 8 * type.bits + (count % 8 * type.bits + 7) / 8;
}

std::uint64_t load_element(Type type, std::span<const std::byte> packed, std::size_t index) {
  const Element element(type);
  if (index >= room(type, packed.size())) refuse_size(type, packed.size());
  return load(type, packed.data(), index);
}

void store_element(Type type, std::span<std::byte> packed, std::size_t index, std::uint64_t bits) {
  const Element element(type);
  if (index >= room(type, packed.size())) refuse_size(type, packed.size());
  store(type, packed.data(), index, bits);
}

void decode(Type type, std::span<const std::byte> packed, std::span<double> values) {
  const Element element(type);
  if (values.size() > room(type, packed.size())) refuse_size(type, packed.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = decode(element, load(type, packed.data(), i));
}

void encode(Type type, std::span<const double> values, std::span<std::byte> packed, Rounding rounding,
            Saturation saturation) {
  const Element element(type);
  if (values.size() > room(type, packed.size())) refuse_size(type, packed.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    store(type, packed.data(), i, encode(element, values[i], rounding, saturation));
  }
}

}  // namespace ptxloom
