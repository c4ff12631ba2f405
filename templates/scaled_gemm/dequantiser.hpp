// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string>

#include "ptxloom/builder.hpp"
#include "scaled_gemm/problem.hpp"

// Fragments of operand A, of bf16 or f16, from words of the weight layout, in registers.
//
// s4 (bits of a half word)    0x4300 | (code ^ 8) is the bf16 128 + 8 + code; 136 is subtracted, exactly, and
//                             the scale multiplied, which rounds. f16: 0x6400 and 1032. If scales are f32,
//                             the integer becomes one, too, and their product is rounded to f32, then to
//                             the type of A.
// u4                          the same without 8: from 0x4300 | code, 128 + the zero point is subtracted.
// mxfp4 (e2m1, ue8m0)         the bits, as the lowest exponent bits and the highest mantissa bit of a bf16,
//                             are 2^-126 times the value, subnormals included. It is multiplied by 2^123 and
//                             by the scale: an eighth of the weight, which is exact for every code and scale.
//                             The epilogue multiplies by 8.
// nvfp4 (e2m1, ue4m3)         the same with the scale as a bf16, which is exact, too. The epilogue also
//                             multiplies by the scale of the tensor. f16: the bits, moved to its exponent,
//                             are 2^-14 times the value, which is multiplied by 2^14.
namespace ptxloom::scaled_gemm {

/// What accumulators must be multiplied by.
float weight_factor(const Problem& problem);

class Dequantiser {
 public:
  /// Of a group, for the rows r and r + 8 of a thread: in both halves of a register, or in f32.
  struct Factors {
    std::array<Reg, 2> scale = {};
    std::array<Reg, 2> offset = {};  // added to integers
  };

  Dequantiser(KernelBuilder& k, const Problem& problem);

  /// `scales`, `zeros`: those of both rows as they lie in memory, in the low bits of a b32, or in two if they
  /// are f32. Zero points are ignored if there are none.
  Factors factors(std::span<const Reg> scales, Reg zeros);
  /// The four registers of an instruction's fragment.
  void make(Reg word, const Factors& factors, std::span<const Reg> into);

 private:
  void integers(Reg word, const Factors& factors, std::span<const Reg> into);
  /// A pair of integers in the type of A, times an f32.
  void scale_widely(Reg into, Reg integers, Reg scale);
  void floats(Reg word, const Factors& factors, std::span<const Reg> into);
  std::array<Reg, 2> offsets(Reg zeros);
  std::array<Reg, 2> spread(Reg pair);
  Reg float_scales(Reg scales);
  Reg powers_of_two(Reg scales);
  Reg of_e4m3(Reg scales);
  Reg moved(Reg part);
  Reg masked(Reg word, int shift, std::uint32_t mask);
  Reg add(Reg a, Reg b);
  void multiply(Reg into, Reg a, Reg b);

  KernelBuilder& k_;
  const Problem& p_;
  std::string type_;  // of A: "bf16x2"
  bool fused_;        // bf16 has fma alone, before sm_90
  Reg zero_, mask_, offset_, shrink_, one_, minus_zero_;
};

}  // namespace ptxloom::scaled_gemm
