// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/weights/wide_dequantiser.hpp"

#include <string>

#include "ptxloom/kit/narrow.hpp"
#include "ptxloom/kit/packed.hpp"

namespace ptxloom::scaled_gemm {
namespace {

constexpr std::int64_t kSigns = 0x8080'8080, kBaseBits = 0x4b00'0000;
constexpr float kBase = 0x1p23F + 128;
constexpr int kLowByteOfBase = 0x7550;  // prmt: the byte that is added to it, below the others of the base
constexpr int kMantissaBits = 23;
constexpr std::int64_t kLeastScale = 0x0040'0000, kNanBits = 0x7fc0'0000, kNanCode = 0xff;  // of ue8m0

}  // namespace

Reg power_of_two(KernelBuilder& k, Reg code) {
  const Reg power = k.select(k.eq(code, 0), kLeastScale, k.shl(code, kMantissaBits));
  return k.bit_cast(f32, k.select(k.eq(code, kNanCode), kNanBits, power));
}

std::array<Reg, 2> scales_in_f32(KernelBuilder& k, Type type, std::span<const Reg> scales) {
  if (type == f32) return {KernelBuilder::as(f32, scales[0]), KernelBuilder::as(f32, scales[1])};
  if (type.bits == 16) {
    const std::vector<Reg> values = kit::unpack_values(k, type, 2, scales.first(1));
    return {values[0], values[1]};
  }
  const Reg codes = KernelBuilder::as(u32, scales.front());
  return {power_of_two(k, k.and_(codes, 0xff)), power_of_two(k, k.and_(k.shr(codes, 8), 0xff))};
}

WideDequantiser::WideDequantiser(KernelBuilder& k, const Problem& p) : k_(k), p_(p) {
  if (p.b.format.element == s8) base_ = k.mov(b32, kBaseBits);
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
