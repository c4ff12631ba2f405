// SPDX-License-Identifier: Apache-2.0
// cvt to and from pairs of ue8m0, whose code is the exponent field of an f32 or a bf16.
//
// Only 2^-127, the code 0, is a subnormal number, and 255 is NaN.
#include <array>

#include "lower/fallback.hpp"

namespace ptxloom::lower {
namespace {

constexpr std::uint32_t kInfinity = 0x7f80'0000;
constexpr std::uint32_t kLeast = 0x0040'0000;    // 2^-127
constexpr std::uint32_t kLargest = 0x7f00'0000;  // 2^127
constexpr int kMantissaBits = 23;
constexpr std::uint32_t kMantissa = (1U << kMantissaBits) - 1;

/// The code of an f32's magnitude, whose bits are given, in the low byte.
Reg toward_zero(Emitter& emit, Reg magnitude, bool finite) {
  const Reg code = emit("shr.u32", magnitude, kMantissaBits);
  if (!finite) return code;
  return emit("selp.b32", kLargest >> kMantissaBits, code, emit("setp.eq.u32", magnitude, kInfinity));
}

Reg upward(Emitter& emit, Reg magnitude, bool finite) {
  const Reg most = emit("min.u32", magnitude, finite ? kLargest : kInfinity);  // infinity has the code of NaN
  const Reg raised = emit("shr.u32", emit("add.u32", most, kMantissa), kMantissaBits);
  const Reg code = emit("selp.b32", raised, 0, emit("setp.gt.u32", magnitude, kLeast));
  return finite ? emit("selp.b32", 0xff, code, emit("setp.gt.u32", magnitude, kInfinity)) : code;
}

Reg pair_of(Emitter& emit, const Variant& variant, Reg upper, Reg lower) {
  const bool finite = variant.slot("sat").has_value();
  const auto rounded = variant.slot("rnd") == "rz" ? toward_zero : upward;
  const Reg high = rounded(emit, upper, finite), low = rounded(emit, lower, finite);
  const Reg pair = emit("prmt.b32", low, high, 0x0040);
  return emit.into(variant.operands().front().type, "cvt.u16.u32", pair);
}

Reg from_singles(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const auto magnitude = [&](Reg value) { return emit("and.b32", emit.bits_of(value), 0x7fff'ffff); };
  return pair_of(emit, variant, magnitude(operands[0]), magnitude(operands[1]));
}

Reg from_brains(Emitter& emit, const Variant& variant, std::span<const Reg> operands) {
  const Reg upper = emit("and.b32", operands[0], 0x7fff'0000);
  const Reg lower = emit("and.b32", emit("shl.b32", operands[0], 16), 0x7fff'0000);
  return pair_of(emit, variant, upper, lower);
}

Reg to_brains(Emitter& emit, const Variant& /*variant*/, std::span<const Reg> operands) {
  const Reg codes = emit("prmt.b32", emit.into(u32, "cvt.u32.u16", operands[0]), 0, 0x4140);
  const Reg fields = emit("shl.b32", codes, 7);
  // Bit 8 of a half is set unless its code is 0; moved down, it is where 2^-127 has its leading bit.
  const Reg some = emit("shr.u32", emit("add.u32", codes, 0x00ff'00ff), 2);
  const std::uint32_t least = 0x0040'0040, first_or_not_second = 0xf2;  // fields | (~some & least)
  const Reg numbers = emit("lop3.b32", fields, some, least, first_or_not_second);
  // The highest bit of a half is set if its code is 255.
  const Reg is_nan = emit("prmt.b32", emit("add.u32", codes, 0x7f01'7f01), 0, 0xbb99);
  return emit("lop3.b32", numbers, is_nan, 0x7fff'7fff, 0xb8);  // is_nan ? constant : numbers
}

constexpr std::array kScales{
    Fallback{"cvt.ue8m0", {{{"rnd", "rz rp"}, {"sat", "- satfinite"}, {"a", "f32"}}}, from_singles},
    Fallback{"cvt.ue8m0", {{{"rnd", "rz rp"}, {"sat", "- satfinite"}, {"a", "bf16x2"}}}, from_brains},
    Fallback{"cvt.bf16x2.ue8m0", {}, to_brains},
};

}  // namespace

std::span<const Fallback> fallbacks_of_scales() { return kScales; }

}  // namespace ptxloom::lower
