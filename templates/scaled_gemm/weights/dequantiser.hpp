// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/builder.hpp"
#include "scaled_gemm/problem/problem.hpp"

// Fragments of operand A, of bf16 or f16, from words of the weight layout, in registers.
//
// s4 (bits of a half word)    0x4300 | (code ^ 8) is the bf16 128 + 8 + code; 136 is subtracted, exactly, and
//                             the scale multiplied, which rounds. f16: 0x6400 and 1032. If scales are f32,
//                             the integer becomes one, too, and their product is rounded to f32, then to
//                             the type of A.
// u4                          the same without 8: from 0x4300 | code, 128 + the zero point is subtracted.
// floats of 4 and 6 bits      the bits, as the lowest exponent bits and the highest mantissa bits of a bf16,
//                             are 2^-126 times the value of an e2m1, subnormals included. The pieces that
//                             they are moved in follow from the layout. One multiplication makes the weight:
//                             by the scale times that power of two, here 2^126. A scale of an MX format
//                             above 1 would overflow there: factors() takes it as 1, and raise() multiplies
//                             again, behind a branch. Weights lack weight_factor(), by which the epilogue
//                             multiplies, so that the largest fit the type of A. Scales in f32, and those of
//                             e3m2 beside f16, multiply in f32. Only e3m2, and MX formats beside f16, are
//                             ever rounded.
namespace ptxloom::scaled_gemm {

class Dequantiser {
 public:
  /// Of a group, for the rows r and r + 8 of a thread: in both halves of a register, or in f32.
  using Scales = std::array<Reg, 2>;
  using Offsets = std::array<Reg, 2>;  ///< added to integers
  struct Factors {
    Scales scale = {};
    Offsets offset = {};
  };

  /// `type`: of the fragments, bf16 or f16. Floats are divided by 2^held_back.
  Dequantiser(KernelBuilder& k, const Problem& problem, Type type, int held_back);
  Dequantiser(KernelBuilder& k, const Problem& problem);  ///< beside 16 bits

  /// `scales`, `zeros`: those of both rows as they lie in memory, in the low bits of a b32, or in two if they
  /// are f32. Zero points are ignored if there are none.
  Factors factors(std::span<const Reg> scales, Reg zeros);
  /// The four registers of the fragment of an instruction. `unit`: of the layout, which of 6 bits has the
  /// fragments of two instructions. If caps_scales(), raise() must follow.
  void make(std::span<const Reg> unit, int instruction, const Factors& factors, std::span<const Reg> into);

  /// Whether factors() takes scales above 1 as 1.
  bool caps_scales() const { return folded_ && p_.b.format.scale == ue8m0; }
  /// Whether a lane of the warp has a scale above 1 among these. A predicate.
  Reg any_above_one(std::span<const Reg> scales);
  /// Multiplies the registers of make() by the scales that are above 1.
  void raise(std::span<const Reg> scales, std::span<const Reg> into);

  /// The parts of these.
  ///@{
  Offsets offsets(Reg zeros);
  std::array<Reg, 4> values(std::span<const Reg> unit, int instruction, const Offsets& offsets);
  Scales of_e4m3(Reg scales, int exponent);  ///< times 2^exponent
                                             ///@}

 private:
  /// Bits of a pair that lie in one word of a unit and move together.
  struct Piece {
    int word = 0, shift = 0;  // to the left
    std::uint32_t mask = 0;   // of a half, after the shift
  };
  void find_pieces();
  int first_element(int reg) const;  // of a register of a unit
  /// Which of a thread's two rows a register of values() has.
  std::size_t row_of(std::size_t reg) const { return p_.row_scales() ? reg / 2 : reg % 2; }
  Reg integers(Reg word, int number, Reg offset);
  Reg bits_of_floats(std::span<const Reg> unit, const std::vector<Piece>& pieces);
  void scale_pair(Reg into, Reg pair, Reg scale);
  void multiply_in_f32(Reg into, Reg pair, Reg scale);
  std::array<Reg, 2> spread(Reg pair);
  Reg powers_up_to_one(Reg scales);
  Scales powers_from_one(Reg scales);
  Reg add(Reg a, Reg b);

  KernelBuilder& k_;
  const Problem& p_;
  Type half_;
  std::string type_;                        // "bf16x2"
  bool fused_;                              // bf16 has fma alone, before sm_90
  bool folded_ = false;                     // scales include 2^moved_
  int moved_ = 0;                           // 2^moved_ makes values of bits in fragments
  std::vector<std::vector<Piece>> pieces_;  // of each register of a unit
  Reg zero_, mask_, offset_, shrink_, one_;
};

}  // namespace ptxloom::scaled_gemm
