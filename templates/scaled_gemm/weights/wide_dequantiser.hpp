// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>

#include "ptxloom/builder.hpp"
#include "scaled_gemm/problem/problem.hpp"

// Fragments of operand A, of bf16 or f16, from weights of 8 bits: each becomes an f32, which is exact, is
// multiplied by its scale in f32, and rounded to the type of A. Of s8, plus 128, the bits are the lowest of
// the mantissa of 2^23, from which 2^23 + 128 is subtracted.
namespace ptxloom::scaled_gemm {

/// A ue8m0 in f32: 2^(code - 127), of which 0 is a subnormal; 255 is NaN.
Reg power_of_two(KernelBuilder& k, Reg code);
/// The scales of rows r and r + 8 of a thread, bf16, f16, f32 or ue8m0, in f32. `scales`: as they lie in
/// memory, in the low bits of a b32, or in two if they are f32.
std::array<Reg, 2> scales_in_f32(KernelBuilder& k, Type type, std::span<const Reg> scales);

class WideDequantiser {
 public:
  /// Of a group, for the rows r and r + 8 of a thread: f32.
  using Factors = std::array<Reg, 2>;

  WideDequantiser(KernelBuilder& k, const Problem& problem);

  Factors factors(std::span<const Reg> scales) { return scales_in_f32(k_, p_.b.format.scale, scales); }
  /// The four registers of an instruction's fragment, from its two words.
  void make(std::span<const Reg> words, const Factors& factors, std::span<const Reg> into);

 private:
  std::vector<Reg> values(Reg word);

  KernelBuilder& k_;
  const Problem& p_;
  Reg base_;  // the bits of 2^23
};

}  // namespace ptxloom::scaled_gemm
