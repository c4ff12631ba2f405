// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/mma_sum.hpp"
#include "ptxloom/target.hpp"
#include "ptxloom/type.hpp"

// How the chips sum matrix products, in the terms of base/mma_sum.hpp. "mma" in specs/targets.json says for
// each chip which of these hold, and with which numbers; specs/README.md gives the sources.
//
//   f16, bf16, tf32      Some chips sum 16 bytes of a row at a time (k8 of f16), others all at once.
//   e4m3, e5m2           As those; or in a unit of their own, whose f32 sum keeps fewer bits of mantissa; or,
//                        for mma.sync, as f16: of each four adjacent elements in k (in a sparse A: stored
//                        ones) the first two of all fours are summed from zero, then the other two on top;
//                        the addend is added last by FADD or HADD2.
//   mxf4, mxf4nvf4       In a unit of their own, by groups of sixteen.
//   m8n8k4 of f16        In tensor cores, or scalar f32 arithmetic. The latter: into f32, fma along k from
//                        zero, then plus c; into f16, (c + (a0 b0 + a1 b1)) + (a2 b2 + a3 b3), each pair one
//                        multiplication and one fma, and one rounding to f16 at the end.
//   wmma                 Tensor core instructions of m16n8, whose k may be smaller than that of mma.sync.
//                        f16 sums of f32 addends are f32 sums, rounded.
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
