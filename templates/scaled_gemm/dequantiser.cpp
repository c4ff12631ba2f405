// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/dequantiser.hpp"

#include "scaled_gemm/halves.hpp"

namespace ptxloom::scaled_gemm {
namespace {

constexpr std::uint32_t kSigns = 0x8000'8000, kMagnitudes = 0x01c0'01c0;
constexpr std::uint32_t kTwoTo123 = 0x7d00, kOne = 0x3f80;    // in bf16
constexpr std::uint32_t kTwoTo120 = 0x7b80, kCode = 0x7f;     // of ue4m3
constexpr std::uint32_t kTwoTo14 = 0x7400, kTwoTo8 = 0x5c00;  // in f16
constexpr int kToHalf = 3;  // from where exponent and mantissa meet in bf16 to that place in f16
constexpr std::uint32_t kLeastPower = 0x0040;  // 2^-127 in bf16, the scale of code 0
constexpr std::uint32_t kNibble = 0x000f, kMinus = 0x8000, kSignOfInteger = 8;
constexpr int kAndXor = (0xf0 & 0xcc) ^ 0xaa;  // lop3: (a & b) ^ c

/// The bits of a power of two whose lowest mantissa bits count ones: those of an integer there add it.
std::uint32_t integer_base(Type type) { return type == bf16 ? 0x4300 : 0x6400; }

}  // namespace

float weight_factor(const Problem& p) {
  return p.b.shuffled && p.b.format.element == e2m1 && p.a.format.element == bf16 ? 8.0F : 1.0F;
}

Dequantiser::Dequantiser(KernelBuilder& k, const Problem& p)
    : k_(k),
      p_(p),
      type_(std::string(p.a.format.element.name) + "x2"),
      fused_(!k.has("mul.rn." + type_)),
      zero_(k.mov(b32, 0)) {
  if (p.b.integers()) {
    mask_ = k.mov(b32, both_halves(kNibble));
    offset_ = k.mov(b32, both_halves(kMinus | integer_base(p.a.format.element) | kSignOfInteger));
  } else {
    shrink_ = k.mov(b32, both_halves(p.a.format.element == bf16 ? kTwoTo123 : kTwoTo14));
  }
  if (!fused_) return;
  one_ = k.mov(b32, both_halves(kOne));
  minus_zero_ = k.mov(b32, both_halves(kMinus));
}

Dequantiser::Factors Dequantiser::factors(std::span<const Reg> scales, Reg zeros) {
  if (!p_.b.integers()) return {.scale = spread(float_scales(scales.front()))};
  if (p_.b.wide_scales())
    return {.scale = {KernelBuilder::as(f32, scales[0]), KernelBuilder::as(f32, scales[1])},
            .offset = offsets(zeros)};
  return {.scale = spread(scales.front()), .offset = offsets(zeros)};
}

void Dequantiser::make(Reg word, const Factors& factors, std::span<const Reg> into) {
  p_.b.integers() ? integers(word, factors, into) : floats(word, factors, into);
}

// A mask and the base make floats of zero points, with a minus sign.
std::array<Reg, 2> Dequantiser::offsets(Reg zeros) {
  if (!p_.b.zero_points()) return {offset_, offset_};
  const Reg pair = k_.op("prmt.b32", zeros, zero_, kBytesToHalves);
  const Reg mask = k_.mov(b32, both_halves(kZeroPointMask));
  const std::int64_t base = both_halves(kMinus | integer_base(p_.a.format.element));
  return spread(k_.op("lop3.b32", pair, mask, base, kAndXor));
}

std::array<Reg, 2> Dequantiser::spread(Reg pair) {
  return {k_.op("prmt.b32", pair, pair, 0x1010), k_.op("prmt.b32", pair, pair, 0x3232)};
}

Reg Dequantiser::float_scales(Reg scales) {
  return p_.b.format.scale == ue4m3 ? of_e4m3(scales) : powers_of_two(scales);
}

// Two ue4m3 as bf16x2: the code as the lowest exponent bits and the highest mantissa bits is 2^-120 times the
// scale, subnormals included, and in f16 2^-8 times. The largest code is NaN: its carry becomes an exponent
// of ones.
Reg Dequantiser::of_e4m3(Reg scales) {
  const Reg halves = k_.op("prmt.b32", scales, zero_, kBytesToHalves);
  const Reg codes = KernelBuilder::as(u32, k_.and_(halves, both_halves(kCode)));
  const Reg carry = k_.and_(k_.add(codes, both_halves(1)), both_halves(kCode + 1));
  const Reg not_a_number = k_.sub(k_.shl(carry, 8), carry);
  const Reg values = k_.reg(b32);
  const bool wide = p_.a.format.element == bf16;
  multiply(values, k_.shl(codes, wide ? 4 : 4 + kToHalf),
           k_.mov(b32, both_halves(wide ? kTwoTo120 : kTwoTo8)));
  return k_.or_(values, not_a_number);
}

// Two ue8m0 as bf16x2: the code is the exponent. 0 is 2^-127, a subnormal; 255 would be infinity, and plus
// zero times infinity it is NaN.
Reg Dequantiser::powers_of_two(Reg scales) {
  const Reg exponents = k_.shl(k_.op("prmt.b32", scales, zero_, kBytesToHalves), 7);
  const Reg powers = larger_halves(k_, exponents, k_.mov(b32, both_halves(kLeastPower)));
  return k_.op("fma.rn.bf16x2", powers, zero_, powers);
}

Reg Dequantiser::add(Reg a, Reg b) {
  return fused_ ? k_.op("fma.rn." + type_, a, one_, b) : k_.op("add.rn." + type_, a, b);
}

// Minus zero changes no sum.
void Dequantiser::multiply(Reg into, Reg a, Reg b) {
  if (fused_)
    k_.emit("fma.rn." + type_, into, a, b, minus_zero_);
  else
    k_.emit("mul.rn." + type_, into, a, b);
}

void Dequantiser::integers(Reg word, const Factors& factors, std::span<const Reg> into) {
  const std::uint32_t sign = p_.b.zero_points() ? 0 : kSignOfInteger;
  const std::int64_t base = both_halves(integer_base(p_.a.format.element) | sign);
  for (std::size_t i = 0; i < into.size(); ++i) {
    const Reg moved = i == 0 ? word : k_.shr(word, 4 * i);
    const Reg code = k_.op("lop3.b32", moved, mask_, base, kAndXor);
    const Reg pair = add(code, factors.offset[i % 2]), scale = factors.scale[i % 2];
    p_.b.wide_scales() ? scale_widely(into[i], pair, scale) : multiply(into[i], pair, scale);
  }
}

void Dequantiser::scale_widely(Reg into, Reg integers, Reg scale) {
  std::array<Reg, 2> wide;
  if (p_.a.format.element == bf16) {  // it is the high half of an f32
    wide = {KernelBuilder::as(f32, k_.shl(integers, 16)),
            KernelBuilder::as(f32, k_.and_(integers, std::int64_t{0xffff'0000}))};
  } else {
    const std::vector<Reg> halves = k_.unpack(f16, integers);
    wide = {k_.convert(f32, halves[0]), k_.convert(f32, halves[1])};
  }
  k_.emit("cvt.rn." + type_ + ".f32", into, k_.mul(wide[1], scale), k_.mul(wide[0], scale));
}

/// The bits of a mask, after a shift to the left (or by a negative number to the right).
Reg Dequantiser::masked(Reg word, int shift, std::uint32_t mask) {
  const Reg moved = shift == 0 ? word : shift > 0 ? k_.shl(word, shift) : k_.shr(word, -shift);
  return k_.and_(moved, static_cast<std::int64_t>(mask));
}

/// Exponent and mantissa where the type of A has them; the sign stays.
Reg Dequantiser::moved(Reg part) {
  if (p_.a.format.element == bf16) return part;
  const Reg magnitude = k_.shl(k_.and_(part, std::int64_t{kMagnitudes}), kToHalf);
  return k_.or_(magnitude, k_.and_(part, std::int64_t{kSigns}));
}

void Dequantiser::floats(Reg word, const Factors& factors, std::span<const Reg> into) {
  const std::array parts{masked(word, 0, kSigns | kMagnitudes), masked(word, 3, kSigns | kMagnitudes),
                         k_.or_(masked(word, 6, kMagnitudes), masked(word, 2, kSigns)),
                         k_.or_(masked(word, -3, kMagnitudes), masked(word, 1, kSigns))};
  for (std::size_t i = 0; i < into.size(); ++i) {
    const Reg value = k_.reg(b32);
    multiply(value, moved(parts[i]), shrink_);
    multiply(into[i], value, factors.scale[i % 2]);
  }
}

}  // namespace ptxloom::scaled_gemm
