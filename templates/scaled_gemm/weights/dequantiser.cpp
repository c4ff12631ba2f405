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

constexpr std::uint32_t kOne = 0x3f80;  // in bf16
constexpr std::uint32_t kCode = 0x7f;   // of ue4m3
constexpr int kToHalf = 3;              // from where exponent and mantissa meet in bf16 to that place in f16
constexpr std::uint32_t kCodeOfOne = 127, kAboveOne = 0x8080;  // of ue8m0; bits of two that are above it
constexpr int kRegisters = 4, kElements = 8;                   // of an instruction's fragment
constexpr int kSignBit = 15;
constexpr std::uint32_t kNibble = 0x000f, kMinus = 0x8000, kSignOfInteger = 8;
constexpr int kAndXor = (0xf0 & 0xcc) ^ 0xaa;  // lop3: (a & b) ^ c

/// A type of 16 bits, as a float.
struct Half {
  int mantissa_bits, bias;
  std::uint32_t power(int exponent) const {
    return static_cast<std::uint32_t>(exponent + bias) << mantissa_bits;
  }
};
Half half_of(Type type) { return type == bf16 ? Half{7, 127} : Half{10, 15}; }

/// The bits of a power of two whose lowest mantissa bits count ones: those of an integer there add it.
std::uint32_t integer_base(Type type) { return type == bf16 ? 0x4300 : 0x6400; }

}  // namespace

Dequantiser::Dequantiser(KernelBuilder& k, const Problem& p)
    : Dequantiser(k, p, p.a.format.element, p.held_back()) {}

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
    moved_ = half_of(type).bias - (1 - kit::find_scaled_format(p.b.format.name)->least_exponent) - held_back;
    folded_ = !p.row_scales() && !p.scales_in_f32();
    if (!folded_) shrink_ = k.mov(b32, both_halves(half_of(type).power(moved_)));
  }
  if (fused_) one_ = k.mov(b32, both_halves(kOne));
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
               : p_.b.format.scale == ue4m3 ? of_e4m3(scales.front(), moved_)
                                            : spread(powers_up_to_one(scales.front()));
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
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (p_.b.integers()) {
      made[i] = integers(unit.front(), static_cast<int>(i), offsets[row_of(i)]);
      continue;
    }
    const Reg bits = bits_of_floats(unit, pieces_[(first + i) % pieces_.size()]);
    made[i] = folded_ ? bits : product_of_halves(k_, half_, bits, shrink_);
  }
  return made;
}

Reg Dequantiser::any_above_one(std::span<const Reg> scales) {
  Reg all = scales.front();
  for (const Reg& one : scales.subspan(1)) all = k_.or_(all, one);
  return k_.vote_any(k_.ne(k_.and_(all, std::int64_t{kAboveOne}), 0));
}

void Dequantiser::raise(std::span<const Reg> scales, std::span<const Reg> into) {
  const Scales above = powers_from_one(scales.front());
  for (std::size_t i = 0; i < into.size(); ++i) {
    if (half_ == bf16)
      multiply_halves(k_, half_, into[i], into[i], above[row_of(i)]);
    else
      multiply_in_f32(into[i], into[i], above[row_of(i)]);
  }
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

// Two ue4m3. Where no instruction converts them: the code as the lowest exponent bits and the highest
// mantissa bits of a bf16 is 2^-120 times the scale, subnormals included, and in f16 2^-8 times. The largest
// code is NaN: its carry becomes an exponent of ones.
Dequantiser::Scales Dequantiser::of_e4m3(Reg scales, int exponent) {
  const char* const convert = "cvt.rn.f16x2.e4m3x2";
  const auto power = [&](int of) { return k_.mov(b32, both_halves(half_of(half_).power(of))); };
  if (k_.has(convert)) {
    const Reg codes = k_.unpack(b16, k_.and_(scales, std::int64_t{kCode << 8 | kCode})).front();
    const Reg values = k_.reg(b32);
    k_.emit(convert, values, codes);
    if (half_ == f16)
      return spread(exponent == 0 ? values : product_of_halves(k_, half_, values, power(exponent)));
    Scales made;
    const std::vector<Reg> wide = kit::unpack_values(k_, f16, 2, std::vector{values});
    for (std::size_t i = 0; i < made.size(); ++i) {
      const Reg scale = k_.mul(wide[i], std::ldexp(1.0F, exponent));
      made[i] = k_.reg(b32);
      k_.emit("cvt.rn.bf16x2.f32", made[i], scale, scale);
    }
    return made;
  }
  const Reg halves = k_.op("prmt.b32", scales, zero_, kBytesToHalves);
  const Reg codes = KernelBuilder::as(u32, k_.and_(halves, both_halves(kCode)));
  const Reg carry = k_.and_(k_.add(codes, both_halves(1)), both_halves(kCode + 1));
  const Reg not_a_number = k_.sub(k_.shl(carry, 8), carry);
  const bool wide = half_ == bf16;
  Reg values = product_of_halves(k_, half_, k_.shl(codes, wide ? 4 : 4 + kToHalf), power(wide ? 120 : 8));
  if (exponent != 0) values = product_of_halves(k_, half_, values, power(exponent));
  return spread(k_.or_(values, not_a_number));
}

// Two ue8m0, codes above that of 1 as 1: 2^(code - 127 + moved_), by its exponent. In f16 the least normal
// power stands for all below: it makes 0 of all values, too.
Reg Dequantiser::powers_up_to_one(Reg scales) {
  const Half half = half_of(half_);
  const int least = static_cast<int>(kCodeOfOne) + 1 - half.bias - moved_;
  Reg codes = smaller_halves(k_, k_.op("prmt.b32", scales, zero_, kBytesToHalves),
                             k_.mov(b32, both_halves(kCodeOfOne)));
  if (least > 0)
    codes = larger_halves(k_, codes, k_.mov(b32, both_halves(static_cast<std::uint32_t>(least))));
  // In f16 it is negative: modulo 2^32 the codes give back what the halves borrow.
  const std::uint32_t lowest = static_cast<std::uint32_t>(1 - least) << half.mantissa_bits;
  const std::uint32_t base = lowest * 0x1'0001U;
  return k_.fma(KernelBuilder::as(u32, codes), 1 << half.mantissa_bits, std::int64_t{base});
}

// Two ue8m0, codes below that of 1 as 1. 255 would be infinity in bf16, and plus zero times infinity it is
// NaN.
Dequantiser::Scales Dequantiser::powers_from_one(Reg scales) {
  const Reg codes = larger_halves(k_, k_.op("prmt.b32", scales, zero_, kBytesToHalves),
                                  k_.mov(b32, both_halves(kCodeOfOne)));
  if (half_ == bf16) {
    const Reg powers = k_.shl(codes, half_of(bf16).mantissa_bits);
    return spread(k_.op("fma.rn.bf16x2", powers, zero_, powers));
  }
  return {power_of_two(k_, k_.and_(codes, 0xffff)), power_of_two(k_, k_.shr(codes, 16))};
}

Reg Dequantiser::add(Reg a, Reg b) {
  return fused_ ? k_.op("fma.rn." + type_, a, one_, b) : k_.op("add.rn." + type_, a, b);
}

Reg Dequantiser::integers(Reg word, int number, Reg offset) {
  const std::uint32_t sign = p_.b.zero_points() ? 0 : kSignOfInteger;
  const Reg moved = number == 0 ? word : k_.shr(word, 4 * number);
  return add(k_.op("lop3.b32", moved, mask_, both_halves(integer_base(half_) | sign), kAndXor), offset);
}

Reg Dequantiser::bits_of_floats(std::span<const Reg> unit, const std::vector<Piece>& pieces) {
  std::optional<Reg> codes;
  for (const Piece& piece : pieces) {
    const Reg word = unit[static_cast<std::size_t>(piece.word)];
    const Reg moved = shifted(k_, word, piece.shift);
    const std::int64_t mask = both_halves(piece.mask);
    codes = codes ? k_.op("lop3.b32", moved, k_.mov(b32, mask), *codes, kAndOr) : k_.and_(moved, mask);
  }
  return *codes;
}

void Dequantiser::scale_pair(Reg into, Reg pair, Reg scale) {
  p_.scales_in_f32() ? multiply_in_f32(into, pair, scale) : multiply_halves(k_, half_, into, pair, scale);
}

void Dequantiser::multiply_in_f32(Reg into, Reg pair, Reg scale) {
  const std::vector<Reg> wide = kit::unpack_values(k_, half_, 2, std::vector{pair});
  k_.emit("cvt.rn." + type_ + ".f32", into, k_.mul(wide[1], scale), k_.mul(wide[0], scale));
}

}  // namespace ptxloom::scaled_gemm
