// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/weights/dequantiser.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ptxloom/kit/packed.hpp"
#include "ptxloom/kit/scaled_format.hpp"
#include "scaled_gemm/weights/halves.hpp"
#include "scaled_gemm/weights/wide_dequantiser.hpp"

namespace ptxloom::scaled_gemm {
namespace {

constexpr std::uint32_t kOne = 0x3f80;                     // in bf16
constexpr std::uint32_t kTwoTo120 = 0x7b80, kCode = 0x7f;  // of ue4m3
constexpr std::uint32_t kTwoTo8 = 0x5c00;                  // in f16
constexpr int kToHalf = 3;  // from where exponent and mantissa meet in bf16 to that place in f16
constexpr std::uint32_t kLeastPower = 0x0040;  // 2^-127 in bf16, the scale of code 0
constexpr int kRegisters = 4, kElements = 8;   // of an instruction's fragment
constexpr int kSignBit = 15;
constexpr std::uint32_t kNibble = 0x000f, kMinus = 0x8000, kSignOfInteger = 8;
constexpr int kAndXor = (0xf0 & 0xcc) ^ 0xaa;  // lop3: (a & b) ^ c
constexpr int kAndOr = (0xf0 & 0xcc) | 0xaa;   // lop3: (a & b) | c

/// A type of 16 bits, as a float.
struct Half {
  int mantissa_bits, bias;
  std::uint32_t power(int exponent) const {
    return static_cast<std::uint32_t>(exponent + bias) << mantissa_bits;
  }
};
Half half_of(Type type) { return type == bf16 ? Half{7, 127} : Half{10, 15}; }

/// The exponent of what floats in bf16 times their scale are divided by, so that none of them is too large.
/// The scales of f16 are not powers of two that reach so far, or in f32.
int held_back(const Problem& p) {
  const kit::ScaledFormat* const format = kit::find_scaled_format(p.b.format.name);
  return p.a.format.element == bf16 ? format->largest_exponent : 0;
}

/// The bits of a power of two whose lowest mantissa bits count ones: those of an integer there add it.
std::uint32_t integer_base(Type type) { return type == bf16 ? 0x4300 : 0x6400; }

}  // namespace

float weight_factor(const Problem& p) {
  const bool floats = p.b.shuffled && !p.row_scales() && !p.b.integers() && !p.b.bytes();
  return floats ? std::ldexp(1.0F, held_back(p)) : 1.0F;
}

Dequantiser::Dequantiser(KernelBuilder& k, const Problem& p)
    : Dequantiser(k, p, p.a.format.element, p.b.integers() ? 0 : held_back(p)) {}

Dequantiser::Dequantiser(KernelBuilder& k, const Problem& p, Type type, int held_back)
    : k_(k),
      p_(p),
      half_(type),
      type_(std::string(type.name) + "x2"),
      fused_(!k.has("mul.rn." + type_)),
      zero_(k.mov(b32, 0)) {
  if (p.b.integers()) {
    mask_ = k.mov(b32, both_halves(kNibble));
    offset_ = k.mov(b32, both_halves(kMinus | integer_base(type) | kSignOfInteger));
  } else {
    find_pieces();
    // From the exponents that bits of the elements mean in the type of the fragments to their own.
    const int moved = half_of(type).bias - (1 - kit::find_scaled_format(p.b.format.name)->least_exponent);
    shrink_ = k.mov(b32, both_halves(half_of(type).power(moved - held_back)));
  }
  if (!fused_) return;
  one_ = k.mov(b32, both_halves(kOne));
  minus_zero_ = k.mov(b32, both_halves(kMinus));
}

// Bits of an element that move by as many places from the same word are a piece.
void Dequantiser::find_pieces() {
  const kit::WeightLayout layout = p_.b.weights();
  if (!layout.in_pairs()) return;
  const int bits = layout.element().bits;
  const int lowest = half_of(half_).mantissa_bits - kit::find_scaled_format(p_.b.format.name)->mantissa_bits;
  for (int reg = 0; reg < layout.unit_elements() / 2; ++reg) {
    std::vector<Piece>& pieces = pieces_.emplace_back();
    for (int bit = 0; bit < bits; ++bit) {
      const int at = layout.bit_of_word(first_element(reg), bit);
      const int to = bit == bits - 1 ? kSignBit : lowest + bit, shift = to - at % 32;
      const auto found = std::ranges::find_if(
          pieces, [&](const Piece& one) { return one.word == at / 32 && one.shift == shift; });
      Piece& piece =
          found != pieces.end() ? *found : pieces.emplace_back(Piece{.word = at / 32, .shift = shift});
      piece.mask |= 1U << to;
    }
  }
}

// Of registers beside 16 bits, or of pairs beside 8 bits.
int Dequantiser::first_element(int reg) const {
  const int in_instruction = reg % kRegisters,
            element = p_.row_scales() ? 2 * in_instruction : in_instruction;
  return reg / kRegisters * kElements + element;
}

Dequantiser::Factors Dequantiser::factors(std::span<const Reg> scales, Reg zeros) {
  Factors made;
  if (p_.b.integers()) made.offset = offsets(zeros);
  made.scale = p_.scales_in_f32()           ? scales_in_f32(k_, p_.b.format.scale, scales)
               : p_.b.integers()            ? spread(scales.front())
               : p_.b.format.scale == ue4m3 ? of_e4m3(scales.front())
                                            : spread(powers_of_two(scales.front()));
  return made;
}

void Dequantiser::make(std::span<const Reg> unit, int instruction, const Factors& factors,
                       std::span<const Reg> into) {
  const std::array<Reg, kRegisters> pairs = values(unit, instruction, factors.offset);
  for (std::size_t i = 0; i < into.size(); ++i) scale_pair(into[i], pairs[i], factors.scale[row_of(i)]);
}

std::array<Reg, 4> Dequantiser::values(std::span<const Reg> unit, int instruction, const Offsets& offsets) {
  std::array<Reg, kRegisters> made;
  const std::size_t first = static_cast<std::size_t>(instruction * kRegisters);
  for (std::size_t i = 0; i < made.size(); ++i)
    made[i] = p_.b.integers() ? integers(unit.front(), static_cast<int>(i), offsets[row_of(i)])
                              : floats(unit, pieces_[(first + i) % pieces_.size()]);
  return made;
}

// A mask and the base make floats of zero points, with a minus sign.
Dequantiser::Offsets Dequantiser::offsets(Reg zeros) {
  if (!p_.b.zero_points()) return {offset_, offset_};
  const Reg pair = k_.op("prmt.b32", zeros, zero_, kBytesToHalves);
  const Reg mask = k_.mov(b32, both_halves(kZeroPointMask));
  return spread(k_.op("lop3.b32", pair, mask, both_halves(kMinus | integer_base(half_)), kAndXor));
}

std::array<Reg, 2> Dequantiser::spread(Reg pair) {
  return {k_.op("prmt.b32", pair, pair, 0x1010), k_.op("prmt.b32", pair, pair, 0x3232)};
}

// Two ue4m3: the code as the lowest exponent bits and the highest mantissa bits of a bf16 is 2^-120 times the
// scale, subnormals included, and in f16 2^-8 times. The largest code is NaN: its carry becomes an exponent
// of ones.
Dequantiser::Scales Dequantiser::of_e4m3(Reg scales) {
  const Reg halves = k_.op("prmt.b32", scales, zero_, kBytesToHalves);
  const Reg codes = KernelBuilder::as(u32, k_.and_(halves, both_halves(kCode)));
  const Reg carry = k_.and_(k_.add(codes, both_halves(1)), both_halves(kCode + 1));
  const Reg not_a_number = k_.sub(k_.shl(carry, 8), carry);
  const Reg values = k_.reg(b32);
  const bool wide = half_ == bf16;
  multiply(values, k_.shl(codes, wide ? 4 : 4 + kToHalf),
           k_.mov(b32, both_halves(wide ? kTwoTo120 : kTwoTo8)));
  return spread(k_.or_(values, not_a_number));
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

Reg Dequantiser::integers(Reg word, int number, Reg offset) {
  const std::uint32_t sign = p_.b.zero_points() ? 0 : kSignOfInteger;
  const Reg moved = number == 0 ? word : k_.shr(word, 4 * number);
  return add(k_.op("lop3.b32", moved, mask_, both_halves(integer_base(half_) | sign), kAndXor), offset);
}

Reg Dequantiser::floats(std::span<const Reg> unit, const std::vector<Piece>& pieces) {
  std::optional<Reg> codes;
  for (const Piece& piece : pieces) {
    const Reg word = unit[static_cast<std::size_t>(piece.word)];
    const Reg moved = piece.shift == 0  ? word
                      : piece.shift > 0 ? k_.shl(word, piece.shift)
                                        : k_.shr(word, -piece.shift);
    const std::int64_t mask = both_halves(piece.mask);
    codes = codes ? k_.op("lop3.b32", moved, k_.mov(b32, mask), *codes, kAndOr) : k_.and_(moved, mask);
  }
  const Reg value = k_.reg(b32);
  multiply(value, *codes, shrink_);
  return value;
}

void Dequantiser::scale_pair(Reg into, Reg pair, Reg scale) {
  if (!p_.scales_in_f32()) return multiply(into, pair, scale);
  const std::vector<Reg> wide = kit::unpack_values(k_, half_, 2, std::vector{pair});
  k_.emit("cvt.rn." + type_ + ".f32", into, k_.mul(wide[1], scale), k_.mul(wide[0], scale));
}

}  // namespace ptxloom::scaled_gemm
