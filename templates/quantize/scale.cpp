// SPDX-License-Identifier: Apache-2.0
#include "quantize/scale.hpp"

#include <bit>

#include "ptxloom/kit/narrow.hpp"

namespace ptxloom::quantize_kernel {
namespace {

constexpr std::uint32_t kInfinityBits = 0x7f80'0000, kNanBits = 0x7fc0'0000, kMantissa = 0x007f'ffff;
constexpr int kMantissaBits = 23;
constexpr int kNanScale = 0xff;     // of ue8m0
constexpr int kTwiceTheBias = 254;  // of the exponents of f32 and ue8m0 alike
constexpr double kLargestE4m3 = 448;
// A block of zeros has a scale that is not zero, and its inverse is finite. So has one of smaller values.
constexpr float kLeastMagnitude = 0x1p-100F;

Reg f32_of(KernelBuilder& k, Reg bits) { return k.bit_cast(f32, bits); }

Reg is_finite(KernelBuilder& k, Reg magnitude) { return k.lt(magnitude, kInfinityBits); }

// OCP MX 1.0, section 6.3: the scale's exponent is that of the largest magnitude less emax. Rounded up it is
// one more if the magnitude's mantissa is larger than that of the largest element. Magnitudes below 2^-126
// have the exponent field 0; the scale 2^-127, the smallest one, is right for them, too.
BlockScale power_of_two(KernelBuilder& k, const Problem& p, Reg magnitude) {
  Reg bits = magnitude;
  if (p.scales_up) {
    const auto largest = std::bit_cast<std::uint32_t>(static_cast<float>(p.format->largest));
    bits = k.add(bits, kMantissa - (largest & kMantissa));
  }
  const Reg exponent = KernelBuilder::as(s32, k.shr(bits, kMantissaBits));
  const Reg code = k.max(k.sub(exponent, p.format->largest_exponent), 0);
  const Reg finite = is_finite(k, magnitude);
  // 2^(127 - code); no code of a finite block is above 253, because the largest elements are above 2.
  const Reg inverse = k.shl(k.sub(k.mov(s32, kTwiceTheBias), code), kMantissaBits);
  return {.stored = KernelBuilder::as(b32, k.select(finite, code, kNanScale)),
          .factor = f32_of(k, k.select(finite, inverse, kNanBits))};
}

// Quotients of magnitudes from 2^-100 on and of the constants here, rounded to nearest even as by div.rn, in
// a third of its instructions: a product, its remainder, which fma has exactly, and a step. All numbers on
// the way are in the range of f32, so the result depends on the mantissa alone:
// tests/quantize/quotient_test.cpp tries all of them, with reciprocals that are off by up to two units.
///@{
Reg corrected(KernelBuilder& k, Reg quotient, Reg dividend, Arg divisor, Arg inverse) {
  const Reg rest = k.fma(k.neg(quotient), divisor, dividend);
  return k.fma(rest, inverse, quotient);
}

Reg by_constant(KernelBuilder& k, Reg magnitude, float divisor) {
  return corrected(k, k.mul(magnitude, 1 / divisor), magnitude, divisor, 1 / divisor);
}

Reg of_constant(KernelBuilder& k, float dividend, Reg magnitude) {
  const float kSmaller = 0x1p-14F;  // the reciprocals of the smallest and the largest one are no subnormals
  const Reg divisor = k.mul(magnitude, kSmaller);
  const Reg first = k.op("rcp.approx.ftz.f32", divisor);
  const Reg inverse = corrected(k, first, k.mov(f32, 1.0F), divisor, first);
  const Reg scaled = k.mov(f32, dividend * kSmaller);
  return corrected(k, k.mul(inverse, scaled), scaled, divisor, inverse);
}
///@}

// The scale is what brings the largest magnitude of the block to that of the format.
BlockScale in_f32(KernelBuilder& k, const Problem& p, Reg magnitude) {
  const Reg largest = k.max(f32_of(k, magnitude), kLeastMagnitude);
  const auto top = static_cast<float>(p.format->largest);
  const Reg finite = is_finite(k, magnitude), nan = f32_of(k, k.mov(b32, kNanBits));
  return {.stored = k.select(finite, by_constant(k, largest, top), nan),
          .factor = k.select(finite, of_constant(k, top, largest), nan)};
}

// Both scales together bring the largest magnitude of the block to that of the format. The one of the block
// is rounded to nearest, and at most the largest one. A scale that is rounded to zero makes all elements
// zero.
BlockScale in_e4m3(KernelBuilder& k, const Problem& p, Reg magnitude, Reg tensor_scale) {
  const Reg unit = k.mul(tensor_scale, static_cast<float>(p.format->largest));
  const Reg finite = is_finite(k, magnitude), nan = f32_of(k, k.mov(b32, kNanBits));
  const Reg wanted = k.select(finite, k.op("div.rn.f32", f32_of(k, magnitude), unit), nan);
  const Reg code = kit::narrow_values(k, e4m3, std::vector{wanted})[0];
  const Reg scale = k.mul(kit::widen_values(k, e4m3, 1, std::vector{code})[0], tensor_scale);
  const Reg inverse = k.op("rcp.rn.f32", scale);
  return {.stored = code, .factor = k.select(k.eq(scale, 0.0F), 0.0F, inverse)};
}

}  // namespace

BlockScale scale_of(KernelBuilder& k, const Problem& p, Reg magnitude, std::optional<Reg> tensor_scale) {
  if (p.format->scale == ue8m0) return power_of_two(k, p, magnitude);
  if (p.format->scale == f32) return in_f32(k, p, magnitude);
  return in_e4m3(k, p, magnitude, *tensor_scale);
}

Reg scale_of_tensor(KernelBuilder& k, const Problem& p, Reg magnitude) {
  const Reg largest = k.max(f32_of(k, magnitude), kLeastMagnitude);
  const auto top = static_cast<float>(p.format->largest * kLargestE4m3);
  const Reg scale = by_constant(k, largest, top);
  return k.select(is_finite(k, magnitude), scale, f32_of(k, k.mov(b32, kNanBits)));
}

bool can_scale(const Specs& specs, const Target& target, const kit::ScaledFormat& format) {
  return format.scale != ue4m3 ||
         (kit::can_narrow(specs, target, e4m3) && kit::can_widen(specs, target, e4m3));
}

}  // namespace ptxloom::quantize_kernel
