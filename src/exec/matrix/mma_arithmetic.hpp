// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/mma_sum.hpp"
#include "ptxloom/target.hpp"
#include "ptxloom/type.hpp"

// How the chips sum matrix products. There are two sources. Where one PTX instruction is one tensor core
// instruction: Xie et al., "MMA-Sim" (arXiv 2511.10909), and for zeros and tiny terms Khattak and Mikaitis
// (arXiv 2512.07004), with base/mma_sum.hpp as the model. Where ptxas expands one into several instructions:
// its machine code (ptxas 13.0, nvdisasm), which shows the order of the additions. The numbers below, and the
// smallest exponents, are those of "mma" in specs/targets.json.
//
//   f16, bf16, tf32      24 bits below the largest term are kept up to sm_89, 25 from sm_90 on; sm_80 to
//                        sm_89 sum 16 bytes of a row at a time (k8 of f16), others all at once.
//   e4m3, e5m2           sm_89: 13 bits, by 16 of k, and an f32 sum keeps 13 bits of mantissa. No smallest
//                        exponent: see specs/README.md, targets.json.
//                        sm_90 to sm_110: mma.sync has no such unit. The elements become f16; of each four
//                        adjacent ones in k (in a sparse A: stored ones) the first two of all fours are
//                        summed from zero, then the other two on top; the addend is added last by FADD or
//                        HADD2. wgmma on sm_90: as on sm_89, but all at once.
//                        sm_120: 25 bits, all at once; so are e3m2, e2m3, e2m1 and mxf8f6f4.
//   mxf4, mxf4nvf4       35 bits.
//   m8n8k4 of f16        sm_75: tensor cores. From sm_80 on: f32 arithmetic without them. Into f32: fma along
//                        k from zero, then plus c. Into f16: (c + (a0 b0 + a1 b1)) + (a2 b2 + a3 b3), each
//                        pair one multiplication and one fma, and one rounding to f16 at the end.
//   wmma                 Tensor core instructions of m16n8: k8 for f16 on sm_75, k4 for tf32 everywhere, so
//                        these are summed in steps. f16 sums of f32 addends are f32 sums, rounded.
//   f64                  fma along k.
namespace ptxloom::exec {

struct MmaArithmetic {
  base::MmaRule rule;
  bool as_f16 = false;   ///< elements become f16, in the order "first two of each four, then the other two"
  bool scalar = false;   ///< f32 arithmetic, no tensor core
  bool grouped = false;  ///< by sixteens, as base::sum_groups does
};

enum class MmaUnit { mma, m8n8k4, wmma, wgmma, mma_fp4 };

/// For a sum of `k` products of elements of type `a`.
MmaArithmetic mma_arithmetic(const TargetInfo& target, MmaUnit unit, const Type& a, int k);

}  // namespace ptxloom::exec
