// SPDX-License-Identifier: Apache-2.0
#include "exec/matrix/mma_arithmetic.hpp"

namespace ptxloom::exec {
namespace {

constexpr int kFp8Bits = 13;
constexpr int kFp4Bits = 35;

bool is_fp8(const Type& type) { return type == e4m3 || type == e5m2; }

// mma.sync of 8-bit floats where it becomes mma.sync of f16.
MmaArithmetic through_f16(const TargetInfo& target, int k) {
  return {.rule = {.fraction_bits = target.mma_fraction_bits, .chunk_k = k / 2, .addend_last = true},
          .as_f16 = true};
}

}  // namespace

MmaArithmetic mma_arithmetic(const TargetInfo& target, MmaUnit unit, const Type& a, int k) {
  const bool narrow_fp8 = is_fp8(a) && (unit == MmaUnit::wgmma || target.number == 89);
  if (unit == MmaUnit::mma && is_fp8(a) && target.number >= 90 && target.number < 120)
    return through_f16(target, k);
  MmaArithmetic arithmetic;
  base::MmaRule& rule = arithmetic.rule;
  rule.fraction_bits = narrow_fp8 ? kFp8Bits : unit == MmaUnit::mma_fp4 ? kFp4Bits : target.mma_fraction_bits;
  rule.result_mantissa_bits = narrow_fp8 ? kFp8Bits : 23;
  // Where the chip sums in halves, a half is what 16 bytes of a row hold.
  if (target.mma_halves) rule.chunk_k = 128 / a.bits;
  if (unit == MmaUnit::wmma && a == tf32) rule.chunk_k = 4;
  if (unit == MmaUnit::wmma && target.number == 75) rule.chunk_k = 8;
  arithmetic.grouped = unit == MmaUnit::mma_fp4;
  arithmetic.scalar = unit == MmaUnit::m8n8k4 && target.number >= 80;
  return arithmetic;
}

}  // namespace ptxloom::exec
