// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/wide_dequantiser.hpp"

#include <string>

#include "ptxloom/kit/narrow.hpp"

namespace ptxloom::scaled_gemm {
namespace {

constexpr std::int64_t kSigns = 0x8080'8080, kBaseBits = 0x4b00'0000;
constexpr float kBase = 0x1p23F + 128;
constexpr int kLowByteOfBase = 0x7550;  // prmt: the byte that is added to it, below the others of the base
constexpr int kMantissaBits = 23;
constexpr std::int64_t kLeastScale = 0x0040'0000, kNanBits = 0x7fc0'0000, kNanCode = 0xff;  // of ue8m0

/// 2^(code - 127); 0 is a subnormal, and 255 NaN.
Reg power_of_two(KernelBuilder& k, Reg code) {
  const Reg power = k.select(k.eq(code, 0), kLeastScale, k.shl(code, kMantissaBits));
  return k.bit_cast(f32, k.select(k.eq(code, kNanCode), kNanBits, power));
}

}  // namespace

WideDequantiser::WideDequantiser(KernelBuilder& k, const Problem& p) : k_(k), p_(p) {
  if (p.b.format.element == s8) base_ = k.mov(b32, kBaseBits);
}

WideDequantiser::Factors WideDequantiser::factors(std::span<const Reg> scales) {
  const Type type = p_.b.format.scale;
  if (type == f32) return {KernelBuilder::as(f32, scales[0]), KernelBuilder::as(f32, scales[1])};
  const Reg both = scales.front();
  if (type == bf16)  // it is the high half of an f32
    return {KernelBuilder::as(f32, k_.shl(both, 16)),
            KernelBuilder::as(f32, k_.and_(both, std::int64_t{0xffff'0000}))};
  if (type == f16) {
    const std::vector<Reg> halves = k_.unpack(f16, both);
    return {k_.convert(f32, halves[0]), k_.convert(f32, halves[1])};
  }
  const Reg codes = KernelBuilder::as(u32, both);
  return {power_of_two(k_, k_.and_(codes, 0xff)), power_of_two(k_, k_.and_(k_.shr(codes, 8), 0xff))};
}

std::vector<Reg> WideDequantiser::values(Reg word) {
  if (p_.b.format.element != s8) return kit::widen_values(k_, p_.b.format.element, 4, std::vector{word});
  const Reg codes = k_.xor_(word, kSigns);
  std::vector<Reg> made;
  for (int i = 0; i < 4; ++i) {
    const Reg bits = k_.op("prmt.b32", codes, base_, kLowByteOfBase + i);
    made.push_back(k_.sub(KernelBuilder::as(f32, bits), kBase));
  }
  return made;
}

void WideDequantiser::make(std::span<const Reg> words, const Factors& factors, std::span<const Reg> into) {
  const std::string opcode = "cvt.rn." + std::string(p_.a.format.element.name) + "x2.f32";
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::vector<Reg> four = values(words[i]);
    for (std::size_t half = 0; half < 2; ++half)
      k_.emit(opcode, into[2 * i + half], k_.mul(four[2 * half + 1], factors[half]),
              k_.mul(four[2 * half], factors[half]));
  }
}

}  // namespace ptxloom::scaled_gemm
