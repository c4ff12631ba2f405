// SPDX-License-Identifier: Apache-2.0
// cvt.rs: stochastic rounding with random bits that are given.
//
// Random bits are added to the bits that are dropped, with their highest bits aligned, and then the sum is
// cut off. Where a number is subnormal in the result, the power of two is added first that puts its bits
// where those of normal numbers are; bits below the random ones do not count, so that addition cuts off.
#include <array>
#include <string>

#include "lower/fallback.hpp"
#include "lower/narrow_format.hpp"

namespace ptxloom::lower {
namespace {

/// A magnitude of at most `most`; NaN becomes `most` too. With relu, negative numbers become 0.
Reg clamped_magnitude(Emitter& emit, Reg value, bool relu, float most) {
  return emit("min.f32", relu ? emit("max.f32", value, 0.0F) : emit("abs.f32", value), most);
}

/// The upper half is the bf16. The sum does not reach the sign, except from NaN.
Reg stochastic_brain(Emitter& emit, const Variant& variant, Reg value, Reg random) {
  const Reg is_nan = emit("setp.nan.f32", value, value);
  Reg kept = variant.slot("relu") ? emit("max.f32", value, 0.0F) : value;
  if (variant.slot("sat")) {
    const float largest = value_of(base::kBf16, base::kBf16.max_finite());
    kept = emit("max.f32", emit("min.f32", kept, largest), -largest);
  }
  return emit("selp.b32", base::kF32.nan, emit("add.u32", emit.bits_of(kept), random), is_nan);
}

Reg stochastic_brains(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const Reg upper = stochastic_brain(emit, variant, operands[0], emit("shr.u32", operands[2], 16));
  const Reg lower = stochastic_brain(emit, variant, operands[1], emit("and.b32", operands[2], 0xffff));
  return emit("prmt.b32", lower, upper, 0x7632);
}

/// The f16 in the low half.
Reg stochastic_half(Emitter& emit, const Variant& variant, Reg value, Reg random) {
  const base::FloatFormat& format = base::kF16;
  const bool relu = variant.slot("relu").has_value();
  const std::uint64_t most = variant.slot("sat") ? format.max_finite() : format.infinity();
  const Reg magnitude = clamped_magnitude(emit, value, relu, value_of(format, most));
  const float least = std::ldexp(1.0F, format.min_exponent());
  const Reg subnormal = emit("setp.lt.f32", magnitude, least);
  const Reg aligned = emit("add.rz.f32", magnitude, emit("selp.f32", least, 0.0F, subnormal));
  const int dropped = base::kF32.mantissa_bits - format.mantissa_bits;
  const Reg sum = emit("shr.u32", emit("add.u32", emit.bits_of(aligned), random), dropped);
  const int bias = base::kF32.bias - format.bias;
  const auto exponents = [&](int count) { return count << format.mantissa_bits; };
  Reg code = emit("sub.u32", sum, emit("selp.b32", exponents(bias + 1), exponents(bias), subnormal));
  if (!relu) {
    const std::uint32_t first_and_second_or_third = 0xea;
    code =
        emit("lop3.b32", emit("shr.u32", emit.bits_of(value), 16), 0x8000, code, first_and_second_or_third);
  }
  return emit("selp.b32", format.nan, code, emit("setp.nan.f32", value, value));
}

Reg stochastic_halves(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const Reg random = emit("and.b32", operands[2], 0x1fff'1fff);
  const Reg upper = stochastic_half(emit, variant, operands[0], emit("shr.u32", random, 16));
  const Reg lower = stochastic_half(emit, variant, operands[1], emit("and.b32", random, 0xffff));
  return emit("prmt.b32", lower, upper, 0x5410);
}

constexpr int kRandomBits = 16;  // for an element of a narrow type

/// An element: its code without the sign in the low byte. The leading bit of x, or of the smallest normal
/// number, is 2^e; the sum of x and 2^(e + 1) has x in its mantissa, in units of 2^(e - 22).
Reg stochastic_code(Emitter& emit, const base::FloatFormat& format, bool relu, Reg value, Reg random) {
  const int m = format.mantissa_bits;
  const float largest = value_of(format, format.max_finite()), nan = value_of(format, format.nan);
  Reg number = clamped_magnitude(emit, value, relu, largest);
  if (relu || nan != largest) number = emit("selp.f32", nan, number, emit("setp.nan.f32", value, value));
  const Reg normal = emit("max.f32", number, std::ldexp(1.0F, format.min_exponent()));
  const Reg leading = emit("and.b32", normal, 0x7f80'0000);
  const Reg aligned = emit("fma.rz.f32", leading, 2.0F, number);
  const Reg sum = emit("add.u32", emit.bits_of(aligned), random);
  // Above the mantissa stands e, and 2^m times e belongs into the code.
  const Reg exponent = emit("add.u32", emit("shr.u32", leading, 23 - m),
                            (2 << m) + ((base::kF32.bias + format.min_exponent()) << m));
  return emit("sub.u32", emit("shr.u32", sum, 22 - m), exponent);
}

/// The random bits of an element, where those are that stochastic_code() drops. Two elements share them.
Reg shared_bits(Emitter& emit, const base::FloatFormat& format, Reg random, bool upper) {
  const int left = 22 - format.mantissa_bits - kRandomBits;
  if (format.sign_bit() == 3)  // of 4 bits
    return emit("shl.b32", emit("prmt.b32", random, 0, upper ? 0x4431 : 0x4420), left);
  return emit("shl.b32", upper ? emit("shr.u32", random, 16) : emit("and.b32", random, 0xffff), left);
}

/// Four bytes, those with this number of each register.
Reg bytes_of(Emitter& emit, const std::array<Reg, 4>& parts, int byte) {
  const int two = (byte + 4) << 4 | byte;
  const Reg low = emit("prmt.b32", parts[0], parts[1], two), high = emit("prmt.b32", parts[2], parts[3], two);
  return emit("prmt.b32", low, high, 0x5410);
}

/// Where a value is not NaN, its bits.
Reg sign_of(Emitter& emit, Reg value) {
  return emit("selp.b32", 0, emit.bits_of(value), emit("setp.nan.f32", value, value));
}

Reg stochastic_four(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const base::FloatFormat& format = format_of(*variant.slot("d"));
  const bool relu = variant.slot("relu").has_value();
  const std::array random{shared_bits(emit, format, operands[4], false),
                          shared_bits(emit, format, operands[4], true)};
  std::array<Reg, 4> codes, signs;
  for (std::size_t i = 0; i < 4; ++i) {
    const Reg value = operands[3 - i];  // the first operand is the highest element
    codes.at(i) = stochastic_code(emit, format, relu, value, random.at(i / 2));
    if (!relu) signs.at(i) = sign_of(emit, value);
  }
  const std::uint32_t sign = 0x0101'0101U << format.sign_bit();
  Reg four = emit("and.b32", bytes_of(emit, codes, 0), sign - 0x0101'0101U);
  if (!relu) {
    const Reg tops = bytes_of(emit, signs, 3);
    const Reg placed = format.sign_bit() == 7 ? tops : emit("shr.u32", tops, 7 - format.sign_bit());
    four = emit("or.b32", four, emit("and.b32", placed, sign));
  }
  if (format.sign_bit() != 3) return four;
  const Reg pairs = emit("or.b32", emit("shr.u32", four, 4), four);
  return emit.into(variant.operands().front().type, "cvt.u16.u32", emit("prmt.b32", pairs, 0, 0x4420));
}

constexpr std::array kStochastic{
    Fallback{"cvt.rs", {{{"relu", "- relu"}, {"sat", "- satfinite"}, {"d", "bf16x2"}}}, stochastic_brains},
    Fallback{"cvt.rs", {{{"relu", "- relu"}, {"sat", "- satfinite"}, {"d", "f16x2"}}}, stochastic_halves},
    Fallback{
        "cvt.rs.x4", {{{"relu", "- relu"}, {"d", "e4m3x4 e5m2x4 e2m3x4 e3m2x4 e2m1x4"}}}, stochastic_four},
};

}  // namespace

std::span<const Fallback> stochastic_fallbacks() { return kStochastic; }

}  // namespace ptxloom::lower
